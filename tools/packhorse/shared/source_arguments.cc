#include "shared/source_arguments.h"

#include "common/checks.h"
#include "packhorse/base/byte_size.h"
#include "packhorse/labels/class_file.h"
#include "packhorse/sources/source.h"
#include "shared/request.h"

namespace packhorse {

void SourceArguments::setup(CLI::App& app, const std::string& source,
                            const std::string& selection) {
  const std::size_t before = app.get_options().size();
  app.add_option("--source-kind", options_.source_kind,
                 "Treat the source as this kind; `packhorse pack --help` lists the kinds")
      ->type_name(choices_text(all_sources()))
      ->group(source);
  app.add_option("--classes", classes_file_,
                 "File with one class name per line, which fixes the labels")
      ->group(source);
  app.add_option("--split-folders", split_folders_,
                 "Which folders, or archives in the source, are splits, e.g. train=Training,"
                 "val=val.tar; none = no folder is; default: by their names")
      ->group(source);
  app.add_option("--classes-at", options_.list.classes_at,
                 "Which of the folders around an image is its class: the Nth, counted from SOURCE, "
                 "or from the folders in --split-folders; default: by the shape of SOURCE")
      ->check(CLI::Range(1, 200))
      ->type_name("N")
      ->group(source);
  LabelOptions& labels = options_.list.labels;
  app.add_option("--labels", labels_,
                 "File of lines `path label` (also CSV, JSONL), used instead of class folders; "
                 "val=FILE: for that split alone")
      ->allow_extra_args(false)
      ->group(source);
  app.add_option("--path-column", labels.path_column,
                 "Column of the labels file that names the image: its name in the header, or its "
                 "number, counted from 1")
      ->group(source);
  app.add_option("--label-column", labels.label_column, "The same for the label")->group(source);
  app.add_option(
         "--label-ids", labels.ids,
         "File of lines `ID NAME`: the classes that the labels in the labels file stand for")
      ->group(source);
  app.add_option("--label-pattern", labels.pattern,
                 "Regular expression whose first group matches the class in an image's name, e.g. "
                 "'^(.+)_[0-9]+\\.jpg$'; with a / it is matched against the path")
      ->group(source);
  app.add_flag("--unlabelled", labels.unlabelled,
               "The images have no classes: give all the class 'unlabelled'")
      ->group(source);
  app.add_option("--fields", fields_,
                 "Extra fields to pack with x.jpg, e.g. json,seg.png for x.json and x.seg.png; "
                 "none = leave out the source's fields")
      ->group(source);
  app.add_option("--key-dot", key_dot_,
                 "WebDataset shards whose keys have dots: the dot of v1.00.jpg at which the key "
                 "ends; told by what each key has when this is not given")
      ->check(program::one_of({"first", "last"}))
      ->group(source);
  app.add_option("--field-from", fields_from_,
                 "An extra field from another folder of the source, e.g. seg.png=masks, or "
                 "mask.gif=masks/{stem}_mask.gif; an image without it is rejected")
      ->type_name("NAME=PLACE")
      ->allow_extra_args(false)
      ->group(source);
  app.add_option("--optional-field-from", optional_fields_from_,
                 "The same for a field that not every image has")
      ->type_name("NAME=PLACE")
      ->allow_extra_args(false)
      ->group(source);
  TargetOptions& targets = options_.list.targets;
  app.add_option(
         "--targets", targets_,
         "Which objects are in the images: coco:FILE (val=coco:FILE: for that split alone), "
         "hf:metadata.jsonl, yolo:data.yaml, or yolo or voc, told from each image's field txt or "
         "xml, or "
         "coco-records:FILE, told from each image's field json and FILE's categories. What else is "
         "said of them: classes:TABLE[:COLUMN] for several classes each, caption:FIELD or "
         "caption:TABLE, mask:FIELD")
      ->type_name("KIND[:PLACE]")
      ->allow_extra_args(false)
      ->group(source);
  app.add_option(
         "--target-classes", target_classes_file_,
         "File with one class of the objects per line, for hf, yolo and voc, or else of the masks "
         "or of several classes")
      ->group(source);
  app.add_option("--target-keypoints", targets.keypoints,
                 "yolo: how many key points each object has")
      ->check(program::positive())
      ->group(source);
  app.add_option("--keypoint-numbers", targets.keypoint_numbers,
                 "yolo: numbers of each key point: x y, or x y visibility")
      ->check(program::one_of({"2", "3"}))
      ->group(source);
  const auto take_memory = [this](const std::string& text) {
    options_.memory = parse_byte_size(text);
  };
  app.add_option_function<std::string>(
         "--memory", take_memory,
         "What the list of the source's samples may take; the rest goes to a temporary file, which "
         "is slower and changes nothing else")
      ->type_name("SIZE")
      ->default_str("1GiB")
      ->group(source);
  SelectOptions& select = options_.select;
  app.add_option("--include", select.include,
                 "Pack only files that match one of these globs; a glob with a / is matched "
                 "against the path, others against the name")
      ->allow_extra_args(false)
      ->group(selection);
  app.add_option("--exclude", select.exclude, "Leave out files that match one of these globs")
      ->allow_extra_args(false)
      ->group(selection);
  app.add_option("--limit", select.limit, "At most N images per split")
      ->check(program::positive())
      ->group(selection);
  app.add_option("--sample-per-class", select.samples_per_class,
                 "At most N images per class and split")
      ->check(program::positive())
      ->group(selection);
  app.add_option("--split", split_,
                 "Divide into train and val (and test) with these weights, e.g. 90:10, by the "
                 "images' bytes")
      ->group(selection);
  app.add_option("--deduplicate", deduplicate_,
                 "Report inputs with identical bytes, over all splits, or drop all but one")
      ->check(program::one_of({"report", "drop"}))
      ->group(selection);
  for (CLI::Option* option : app.get_options()) declared_.push_back(option);
  declared_.erase(declared_.begin(), declared_.begin() + static_cast<std::ptrdiff_t>(before));
}

std::string SourceArguments::given() const {
  for (const CLI::Option* option : declared_)
    if (option->count() > 0) return option->get_name();
  return {};
}

void SourceArguments::read() {
  if (!classes_file_.empty()) options_.list.classes = read_class_file(classes_file_);
  options_.list.labels.files = parse_labels(labels_);
  options_.list.labels.validate();
  if (!split_folders_.empty()) options_.list.split_folders = parse_split_folders(split_folders_);
  if (!fields_.empty()) options_.list.fields = FieldChoice::parse(fields_);
  if (!key_dot_.empty()) options_.list.fields.key_dot = parse_key_dot(key_dot_);
  std::vector<FieldPlace>& places = options_.list.fields.places;
  for (const std::string& text : fields_from_) places.push_back(parse_field_place(text, true));
  for (const std::string& text : optional_fields_from_)
    places.push_back(parse_field_place(text, false));
  for (const std::string& text : targets_) options_.list.targets.add(text);
  if (!target_classes_file_.empty())
    options_.list.targets.classes = read_class_file(target_classes_file_);
  options_.list.targets.validate();
  if (!split_.empty()) options_.select.split = SelectOptions::parse_split(split_);
  using Duplicates = SelectOptions::Duplicates;
  if (!deduplicate_.empty())
    options_.select.duplicates = deduplicate_ == "drop" ? Duplicates::kDrop : Duplicates::kReport;
}

}  // namespace packhorse
