#include "annotations/sample_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "annotations/coco_head.h"
#include "annotations/coco_object.h"
#include "annotations/exports/export_notation.h"
#include "annotations/hf_metadata.h"
#include "annotations/voc_file.h"
#include "annotations/yolo_labels.h"
#include "base/hash.h"
#include "base/option.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/xxh3.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using Notation = TargetOptions::Notation;

constexpr std::uint32_t kSeveral = ~std::uint32_t{0};  // images that have one name

std::uint64_t hash_of(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }

/// Whether one path ends with the other: "val2017/1.jpg" is "1.jpg", and "a/1.jpg" not "b/1.jpg".
bool same_file(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  if (!a.ends_with(b)) return false;
  return a.size() == b.size() || a[a.size() - b.size() - 1] == '/';
}

/// Throws when there is any problem: the image would be packed with objects missing.
void refuse_problems(const std::vector<std::string>& problems) {
  if (!problems.empty()) throw Error(ErrorKind::kCorrupt, words_of(problems));
}

void refuse_other_size(std::uint32_t width, std::uint32_t height, const ImageInfo& image) {
  const bool unsaid = width == 0 && height == 0;
  if (unsaid || (width == image.width && height == image.height)) return;
  const bool turned = width == image.height && height == image.width && image.turn().swap;
  throw Error(ErrorKind::kCorrupt,
              fmt::format("its annotations are for an image of {} x {}, but it has {} x {}{}",
                          width, height, image.width, image.height,
                          turned ? " as stored: they are for the turned picture" : ""));
}

std::vector<std::filesystem::path> paths_of(
    const std::map<std::string, std::filesystem::path>& files) {
  std::vector<std::filesystem::path> paths;
  for (const auto& [split, path] : files) paths.push_back(path);
  return paths;
}

/// Returns the size of the image as the file says it.
MaskSize add_voc_objects(std::string_view text, bool from_zero,
                         const std::unordered_map<std::string, std::size_t>& classes,
                         ObjectBuilder& builder) {
  VocFile file = parse_voc(text, from_zero);
  for (const std::string& problem : file.problems) builder.problem("its annotations", problem);
  for (VocFile::Object& object : file.objects) {
    const auto found = classes.find(object.name);
    const std::string name = "object '" + printable(object.name) + "'";
    if (found == classes.end()) {
      builder.problem(name, "no class is called that");
      continue;
    }
    object.object.label = static_cast<std::int64_t>(found->second);
    builder.add(object.object, name);
  }
  return {file.height, file.width};
}

/// Whether an image is turned by its EXIF orientation, and a size that annotations give, or leave
/// out, does not tell which of the two pictures they are for.
bool may_be_turned(MaskSize size, const ImageInfo& image) {
  const bool tells = size.width != size.height && image.turn().swap;
  return image.orientation > 1 && !tells;
}

std::string with_slashes(std::string name) {
  std::ranges::replace(name, '\\', '/');
  return name;
}

/// The options that name the files.
std::string options_of(const TargetOptions& options) {
  std::string places;
  for (const auto& [split, place] : options.files)
    places += (places.empty() ? "" : " ") +
              opt("targets", (split.empty() ? "" : split + '=') + std::string(options.name()) +
                                 ':' + place.native());
  return places;
}

bool has_backslash(std::string_view name) { return name.find('\\') != std::string_view::npos; }

}  // namespace

std::string class_note(const std::string& targets, const std::vector<std::string>& classes) {
  return fmt::format("the {} of the objects {} in the annotations, sorted: {}; {} {} fixes them",
                     classes.size() == 1 ? "class" : fmt::format("{} classes", classes.size()),
                     classes.size() == 1 ? "is that" : "are those", naming::quoted(classes),
                     targets, opt("target_classes", "FILE"));
}

SampleTargets::SampleTargets(TargetOptions options) : options_(std::move(options)) {
  options_.validate();
  if (options_.names_object_classes()) classes_ = options_.classes;
  if (options_.notation == Notation::kHf && classes_.empty())
    classes_ = hf_class_names(paths_of(options_.files));
  if (options_.is_export()) read_exports();
  for (std::size_t i = 0; i < options_.keypoints; ++i) keypoints_.push_back(std::to_string(i));
  Sha256 hash;
  const auto add = [&](const std::string& text) { hash.update(as_bytes(text + '\0')); };
  add(fmt::format("{} {} {} {}", static_cast<int>(options_.notation), options_.keypoints,
                  options_.keypoint_numbers, options_.voc_from_zero));
  for (const std::string& name : classes_) add(name);
  open_files();
  for (std::size_t i = 0; i < classes_.size(); ++i) class_places_.emplace(classes_[i], i);
  for (const std::string& name : classes_)
    if (!is_utf8(name))
      throw Error(ErrorKind::kUsage,
                  "the name of the class '" + printable(name) + "' is not in UTF-8", {},
                  "convert the file that names it to UTF-8");
  for (const auto& [name, path] : options_.files)
    if (!options_.is_export()) add(name + ' ' + sha256_file(path));
  for (const auto& [name, split] : splits_) {
    if (!options_.is_export()) continue;
    add(fmt::format("{} {} {}", name, split.fractions, split.file->head()));
    for (std::size_t i = 0; i < split.file->images().size(); ++i)
      add(split.file->record(split.file->images()[i]) + split.problems[i]);
  }
  fingerprint_ = hash.finish();
}

/// Their classes are those of all files, unless they are given.
void SampleTargets::read_exports() {
  const ExportNotation& notation = *export_notation(options_.notation);
  std::string problem;
  std::set<std::string> names;
  for (const auto& [split, place] : options_.files) {
    ExportedImages& images = exports_[split];
    images = read_export(notation, place, options_);
    for (std::string& name : images.class_names()) names.insert(std::move(name));
    for (const ExportedImages::Image& image : images.images())
      if (problem.empty() && !image.problems().empty())
        problem = "; the first that cannot be read: " + printable(image.name()) + ": " +
                  image.problems().front();
  }
  if (!classes_.empty()) return;
  classes_.assign(names.begin(), names.end());
  if (classes_.empty())
    throw Error(ErrorKind::kUsage, "no annotation names a class" + problem,
                options_.files.begin()->second,
                "name them, a name a line: " + opt("target_classes", "FILE"));
}

/// The files of one data set: they have the same categories.
void SampleTargets::open_files() {
  for (const auto& [name, path] : options_.files) {
    if (is_folder(path) && !options_.is_export())
      throw Error(ErrorKind::kUsage, "`targets=` names a folder, not a file with annotations", path,
                  "name the file in it");
    Split& split = splits_[name];
    if (const auto made = exports_.find(name); made != exports_.end()) {
      take_export(made->second, path, split);
      exports_.erase(made);
    } else if (options_.notation == Notation::kHf) {
      split.file = std::make_unique<CocoFile>(path, coco_of_hf_metadata(path, classes_));
    } else {
      split.file = std::make_unique<CocoFile>(path);
    }
    if (classes_.empty()) {
      classes_ = split.file->classes();
      keypoints_ = split.file->keypoint_names();
    }
    if (classes_ != split.file->classes() || keypoints_ != split.file->keypoint_names())
      throw Error(ErrorKind::kUsage, "the annotation files have different categories", path,
                  "give files of one data set");
    for (std::uint32_t i = 0; i < split.file->images().size(); ++i) {
      const std::string& image = split.file->images()[i].file_name;
      add_name(split, image, i);
      if (has_backslash(image)) add_name(split, with_slashes(image), i);
    }
  }
}

void SampleTargets::take_export(ExportedImages& images, const std::filesystem::path& path,
                                Split& split) const {
  images.finish(classes_);
  split.file = std::make_unique<CocoFile>(path, images.coco_text(), images.fractions);
  split.fractions = images.fractions;
  split.notes = images.notes();
  for (const ExportedImages::Image& image : images.images()) {
    split.problems.push_back(words_of(image.problems()));
    split.stems = split.stems || !naming::has_any_image_name(image.name());
  }
}

void SampleTargets::add_name(Split& split, std::string_view name, std::uint32_t image) {
  for (const auto& [names, text] :
       {std::pair(&split.by_name, name), std::pair(&split.by_last_name, naming::last_name(name))}) {
    const auto [at, added] = names->emplace(hash_of(text), image);
    if (!added && at->second != image) at->second = kSeveral;
  }
}

const SampleTargets::Split* SampleTargets::split_of(const std::string& name) const {
  auto found = splits_.find(name);
  if (found == splits_.end()) found = splits_.find("");
  return found == splits_.end() ? nullptr : &found->second;
}

const CocoFile::Image* SampleTargets::find(const Split& split, const SplitListing& listing,
                                           std::size_t entry) {
  const std::string below = listing.entries.path_of(entry);
  const CocoFile::Image* const image = find(split, listing, below);
  if (image != nullptr || !split.stems) return image;
  return find(split, listing, below.substr(0, below.rfind('.')));
}

const CocoFile::Image* SampleTargets::find(const Split& split, const SplitListing& listing,
                                           const std::string& below) {
  const std::string path = naming::join(listing.origin, below);
  const auto look = [&](const auto& names, std::string_view text,
                        std::string_view whole) -> const CocoFile::Image* {
    const auto found = names.find(hash_of(text));
    if (found == names.end() || found->second == kSeveral) return nullptr;
    const CocoFile::Image& image = split.file->images()[found->second];
    const bool same =
        same_file(image.file_name, whole) ||
        (has_backslash(image.file_name) && same_file(with_slashes(image.file_name), whole));
    return same ? &image : nullptr;
  };
  // The file may name images from a folder further down.
  for (std::string_view part = path;;) {
    if (const CocoFile::Image* const image = look(split.by_name, part, path)) return image;
    const std::size_t slash = part.find('/');
    if (slash == std::string_view::npos) break;
    part.remove_prefix(slash + 1);
  }
  // Or from one further up; a file for one split, in folders that are called otherwise there.
  const std::string_view known = split.of_several ? std::string_view(path) : below;
  return look(split.by_last_name, naming::last_name(below), known);
}

/// The hash of a path's name when several images of the file have it, so that find() takes none.
std::optional<std::uint64_t> SampleTargets::shared_name(const Split& split, std::string_view path) {
  while (true) {
    const std::uint64_t hash = hash_of(path);
    const auto found = split.by_name.find(hash);
    if (found != split.by_name.end() && found->second == kSeveral) return hash;
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    path.remove_prefix(slash + 1);
  }
}

std::string SampleTargets::head(const std::string& split) const {
  const Split* const own = split_of(split);
  if (own == nullptr && split.empty())
    throw Error(ErrorKind::kUsage,
                fmt::format("the source has no splits, and `targets=` gives annotations for the "
                            "split {} alone",
                            splits_.begin()->first),
                {},
                "say which folders are splits: " +
                    opt("split_folders", splits_.begin()->first + "=FOLDER") +
                    "; or give annotations of all images: " +
                    opt("targets", std::string(options_.name()) + ":FILE"));
  if (own == nullptr)
    throw Error(ErrorKind::kUsage, "no annotations are given for the split '" + split + "'", {},
                "give " + opt("targets", split + "=" + std::string(options_.name()) + ":FILE"));
  return own->file->head().size() <= kMostHeadBytes ? own->file->head() : std::string();
}

void SampleTargets::keep_heads(Listing& listing) const {
  for (SplitListing& split : listing.splits) {
    split.target_head = head(split.split);
    if (!split.target_head.empty()) continue;
    listing.notes.push_back(
        printable(naming::last_name(split_of(split.split)->file->path().native())) +
        " says more than 4 MiB besides images and annotations, which is not kept: "
        "`unpack(as=coco)` "
        "will make its categories anew");
  }
}

/// What was found of a file's images, in all splits that it is for.
struct SampleTargets::Use {
  explicit Use(const Split& file_of) : split(file_of), there(file_of.file->images().size()) {}
  std::string file() const {
    const std::filesystem::path& path = split.file->path();
    return printable((path.has_filename() ? path : path.parent_path()).filename().native());
  }

  const Split& split;
  std::vector<bool> there;         ///< the file's images
  std::set<std::uint64_t> shared;  ///< names that several of these have, and one in the source
  std::size_t known = 0;           ///< images of the source
  std::size_t with_slashes = 0;    ///< of them, those that are found with / for each backslash
  std::string first_with_slashes;  ///< as the file has it
  SplitListing* first = nullptr;
};

void SampleTargets::attach(SplitListing& listing, Use& use) const {
  const Split& split = use.split;
  if (use.first == nullptr) use.first = &listing;
  listing.entries.revise([&](std::size_t i, EntryTable::Facts&) {
    const std::string path = listing.entries.path_of(i);
    const CocoFile::Image* const image = find(split, listing, i);
    if (image == nullptr) {
      const auto name = shared_name(split, naming::join(listing.origin, path));
      if (name) use.shared.insert(*name);
      const char* const which = name ? "several images" : "no image";
      listing.rejects.push_back(
          {printable(path),
           {Reason::kNoAnnotation,
            fmt::format("no annotations: {} has {} of that name", use.file(), which)}});
      return false;
    }
    const auto number = static_cast<std::size_t>(image - split.file->images().data());
    if (use.there[number])
      throw Error(ErrorKind::kUsage,
                  "two images would get the annotations of '" + printable(image->file_name) +
                      "', one of them " + printable(naming::join(listing.origin, path)),
                  split.file->path(), "give annotations that name images with their folders");
    use.there[number] = true;
    ++use.known;
    if (has_backslash(image->file_name) && !has_backslash(path) && ++use.with_slashes == 1)
      use.first_with_slashes = image->file_name;
    return true;
  });
}

void SampleTargets::finish(const Use& use, std::vector<std::string>& notes) {
  const CocoFile& file = *use.split.file;
  notes.insert(notes.end(), file.notes().begin(), file.notes().end());
  notes.insert(notes.end(), use.split.notes.begin(), use.split.notes.end());
  if (use.with_slashes > 0)
    notes.push_back(
        fmt::format("{} names of images in {} have backslashes, which are taken for "
                    "slashes: {}",
                    use.with_slashes, use.file(), use.first_with_slashes));
  std::vector<Reject>& rejects = use.first->rejects;
  if (use.known == 0 && !rejects.empty())
    throw Error(
        ErrorKind::kUsage,
        fmt::format("the annotations name none of the images{}: they have '{}', the source '{}'",
                    use.shared.empty() ? "" : " once",
                    file.images().empty() ? "" : printable(file.images().front().file_name),
                    naming::join(use.first->origin, rejects.front().path)),
        file.path(),
        use.shared.empty() ? "give the annotations of these images; those of one split alone as "
                             "`targets=val=coco:FILE`"
                           : "give annotations with one entry an image");
  for (std::size_t i = 0; i < use.there.size(); ++i) {
    const std::string& name = file.images()[i].file_name;
    if (!use.there[i] && !use.shared.contains(hash_of(name)))
      rejects.push_back({printable(name), {Reason::kNotThere, "not there, but in " + use.file()}});
  }
}

/// Notes how many images have no objects since they lack the field.
void SampleTargets::note_without(const std::string& field, Listing& listing) const {
  if (options_.notation != Notation::kYolo) return;  // others must have it
  const auto place = std::ranges::find(listing.fields, field) - listing.fields.begin();
  std::size_t all = 0, without = 0;
  for (const SplitListing& split : listing.splits) {
    all += split.entries.size();
    for (std::size_t i = 0; i < split.entries.size(); ++i)
      if ((split.entries.facts(i).fields >> place & 1) == 0) ++without;
  }
  if (without > 0)
    listing.notes.push_back(
        fmt::format("{} of {} images have no field '{}', and so no objects", without, all, field));
}

void SampleTargets::attach(Listing& listing) {
  for (const std::string& name : made_fields()) {
    if (std::ranges::find(listing.fields, name) != listing.fields.end())
      throw Error(ErrorKind::kUsage,
                  "the source has a field '" + name + "', which `targets=` would make", {},
                  "leave it out with `fields=`");
  }
  if (options_.has_files()) keep_heads(listing);
  if (options_.makes_records()) {
    std::map<std::string, Use> uses;  // by the split that a file is for
    if (const auto all = splits_.find(""); all != splits_.end())
      all->second.of_several = listing.splits.size() > 1;
    for (SplitListing& split : listing.splits) {
      const Split& own = *split_of(split.split);
      attach(split, uses.try_emplace(own.of_several ? "" : split.split, own).first->second);
    }
    for (const auto& [name, use] : uses) finish(use, listing.notes);
    if (options_.is_export() && options_.classes.empty())
      listing.notes.push_back(class_note(options_of(options_), classes_));
    return;
  }
  const std::string field(options_.field());
  if (std::ranges::find(listing.fields, field) == listing.fields.end())
    throw Error(ErrorKind::kUsage,
                "no image has a field '" + field + "', which would say its objects", {},
                "name the files' folder: " + opt("optional_field_from", field + "=FOLDER"));
  note_without(field, listing);
}

const CocoFile::Image& SampleTargets::image_of(const Split* split, const SplitListing& listing,
                                               std::size_t entry) {
  const CocoFile::Image* const image = split == nullptr ? nullptr : find(*split, listing, entry);
  if (image == nullptr) throw Error(ErrorKind::kCorrupt, "it has no annotations");
  return *image;
}

std::string SampleTargets::record(const SplitListing& split, std::size_t entry,
                                  const ImageInfo& stored) const {
  if (!options_.makes_records()) return {};
  const Split* const own = split_of(split.split);
  const CocoFile::Image& image = image_of(own, split, entry);
  std::string record = own->file->record(image);
  if (!options_.is_export()) return record;
  const auto number = static_cast<std::size_t>(&image - own->file->images().data());
  if (!own->problems[number].empty()) throw Error(ErrorKind::kCorrupt, own->problems[number]);
  return exported_record(record, split.entries.path_of(entry), stored, own->fractions);
}

ImageInfo SampleTargets::told_image(const SplitListing& split, std::size_t entry) const {
  ImageInfo told;
  if (!options_.makes_records()) return told;
  const CocoFile::Image& image = image_of(split_of(split.split), split, entry);
  told.width = image.width;
  told.height = image.height;
  return told;
}

Objects SampleTargets::objects(const SplitListing& split, std::size_t entry,
                               std::optional<std::string_view> field, const ImageInfo& image,
                               bool* turned) const {
  const AnnotationFrame frame = {image.width, image.height, classes_.size(), keypoints_.size()};
  ObjectBuilder builder(frame);
  MaskSize size;
  const Split* const own = split_of(split.split);
  if (options_.is_export()) {
    size = own->file->add_objects(record(split, entry, image), builder);
  } else if (options_.makes_records()) {
    const CocoFile::Image& told = image_of(own, split, entry);
    own->file->add_objects(told, builder);
    size = {told.height, told.width};
  } else if (options_.notation == Notation::kYolo) {  // without a field it has no objects
    add_yolo_objects(field.value_or(std::string_view()), frame,
                     {options_.keypoints, options_.keypoint_numbers}, builder);
  } else if (!field) {
    throw Error(ErrorKind::kCorrupt, "it has no annotations: its field '" +
                                         std::string(options_.field()) + "' is missing");
  } else if (options_.notation == Notation::kVoc) {
    size = add_voc_objects(*field, options_.voc_from_zero, class_places_, builder);
  } else {  // the files have the same classes, but a class may have another id in each
    size = own->file->add_objects(*field, builder);
  }
  refuse_other_size(size.width, size.height, image);
  refuse_problems(builder.problems());
  Objects objects = builder.take();
  if (turned != nullptr) *turned = objects.size() > 0 && may_be_turned(size, image);
  return objects;
}

TargetRecord SampleTargets::target() const {
  return {std::string(kObjectsField), "objects", std::string(options_.field()), classes_,
          keypoints_};
}

}  // namespace packhorse
