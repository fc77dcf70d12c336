#include "annotations/coco_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "annotations/coco_head.h"
#include "annotations/coco_object.h"
#include "annotations/json_values.h"
#include "base/json.h"
#include "base/json_slices.h"
#include "base/option.h"
#include "base/printable.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

bool is_array(std::string_view json) { return json.starts_with('['); }
bool is_object(std::string_view json) { return json.starts_with('{'); }

constexpr std::size_t kMostBoxesLookedAt = 1000;

/// Whether the boxes that it is told of all lie within one pixel, as fractions of an image do.
class Fractions {
 public:
  void add(std::string_view box) {
    if (boxes_ == kMostBoxesLookedAt || !all_ || !is_array(box)) return;
    const auto within = [](std::string_view value) {
      return is_number(value) && number_of(value, "box") >= 0 && number_of(value, "box") <= 1;
    };
    const std::vector<std::string_view> list = list_of(box, "box");
    all_ = list.size() == 4 && std::ranges::all_of(list, within);
    ++boxes_;
  }
  bool all() const { return all_ && boxes_ > 0; }

 private:
  std::size_t boxes_ = 0;
  bool all_ = true;
};

}  // namespace

CocoFile::CocoFile(const std::filesystem::path& path) : path_(path), file_(path) { read(); }

CocoFile::CocoFile(const std::filesystem::path& path, std::string text, bool fractions)
    : path_(path), own_text_(std::move(text)), fractions_(fractions) {
  read();
}

void CocoFile::refuse_unless(const std::function<void()>& read) const try {
  read();
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kInterrupted) throw;
  refuse(error.what());
}

void CocoFile::read() {
  const std::string_view text = this->text();
  refuse_unless([&] { check_json(text); });
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (!is_object(text.substr(begin))) refuse("it is not a JSON object");
  std::string_view images, annotations, categories;
  for_each_member(text, [&](std::string_view name, std::string_view value) {
    for (const auto& [wanted, list] :
         {std::pair("\"images\"", &images), std::pair("\"annotations\"", &annotations),
          std::pair("\"categories\"", &categories)}) {
      if (name != wanted) continue;
      if (!list->empty()) refuse("it has " + std::string(wanted) + " twice");
      *list = value;
    }
    if (name != "\"images\"" && name != "\"annotations\"")
      head_.append(head_.empty() ? "{" : ",").append(name).append(":").append(value);
    return true;
  });
  head_ += '}';
  if (!is_array(images) || !is_array(annotations))
    refuse("it has no list of \"images\", or none of \"annotations\"");
  if (!is_array(categories)) refuse("it has no list of \"categories\"");
  read_categories(categories);
  read_images(images);
  read_annotations(annotations);
  refuse_unless([&] { refuse_secrets(head_); });
}

void CocoFile::refuse(const std::string& what) const {
  throw Error(ErrorKind::kUsage, "not an annotation file of COCO: " + what, path_,
              "correct it, or give a file of instances or keypoints");
}

void CocoFile::read_categories(std::string_view array) {
  std::vector<CocoCategory> categories;
  refuse_unless([&] { categories = read_coco_categories(array); });
  for (CocoCategory& category : categories) {
    labels_by_id_.add(id_of(category.id), static_cast<std::uint32_t>(classes_.size()));
    classes_.push_back(std::move(category.name));
    if (category.keypoints.empty()) continue;
    if (!keypoint_names_.empty() && keypoint_names_ != category.keypoints)
      refuse("its categories have different keypoints");
    keypoint_names_ = std::move(category.keypoints);
  }
  labels_by_id_.index_characters();
}

void CocoFile::read_images(std::string_view array) {
  std::size_t unsized_images = 0;
  for_each_element(array, [&](std::string_view json) {
    const auto number = static_cast<std::uint32_t>(images_.size());
    if (number == std::numeric_limits<std::uint32_t>::max()) refuse("it has too many images");
    Image image{json, {}, 0, 0, 0, 0};
    try {
      image.file_name = file_name_of(json);
      refuse_secrets(json);
      const MaskSize size = coco_size(json);
      image.width = size.width;
      image.height = size.height;
      const std::string id = id_of(json_member(json, "id"));
      if (!images_by_id_.add(id, number)) refuse("the image id " + id + " is there twice");
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      if (!error.path().empty()) throw;
      refuse(fmt::format("image {} of its list: {}", number + 1, error.what()));
    }
    if (image.width == 0 && image.height == 0) ++unsized_images;
    images_.push_back(std::move(image));
  });
  if (unsized_images > 0 && own_text_.empty())
    notes_.push_back(
        fmt::format("{} of {} images have no width and height in {}: they have those of their "
                    "pictures",
                    unsized_images, images_.size(), path_.filename().native()));
}

void CocoFile::read_annotations(std::string_view array) {
  const char* const begin = text().data();
  std::size_t number = 0, captions = 0;
  std::string other_type;  // the first id that is
  Fractions fractions;
  const auto known = [&](CocoIdTable& table, std::string_view json) {
    const std::string id = id_of(json);
    auto found = table.find(id);
    if (!found) {
      table.index_characters();
      found = table.find(id);
    }
    if (found && found->other_type && other_type.empty())
      other_type = fmt::format("annotation {} has the id {}", number, id);
    return found;
  };
  for_each_element(array, [&](std::string_view json) {
    ++number;
    if (json.size() > JsonLimits{}.bytes)
      refuse(fmt::format("annotation {} of its list is larger than 16 MiB", number));
    try {
      refuse_secrets(json);
      const CocoAnnotation one = read_coco_annotation(json);
      if (one.image_id.empty()) throw Error(ErrorKind::kCorrupt, "it has no image_id");
      if (one.is_caption()) ++captions;
      if (!one.category_id.empty()) known(labels_by_id_, one.category_id);
      const auto image = known(images_by_id_, one.image_id);
      if (!image) throw Error(ErrorKind::kCorrupt, why_no_image(one.image_id));
      fractions.add(one.bbox);
      annotations_.push_back({image->place, static_cast<std::uint32_t>(json.size()),
                              static_cast<std::uint64_t>(json.data() - begin)});
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      refuse(fmt::format("annotation {} of its list: {}", number, error.what()));
    }
  });
  note_annotations(captions, other_type);
  if (fractions.all() && !fractions_)
    notes_.push_back(
        "the boxes in " + printable(path_.filename().native()) +
        " all lie within 0 to 1: they are taken as pixels, and may be fractions of the "
        "image");
  std::ranges::stable_sort(annotations_, {}, &Place::image);
  for (std::uint32_t i = 0; i < annotations_.size(); ++i) {
    Image& image = images_[annotations_[i].image];
    if (image.annotations++ == 0) image.first = i;
  }
}

std::string CocoFile::why_no_image(std::string_view id) const {
  const std::string why = "no image of its list has the id " + printable(id);
  if (images_.empty()) return why + ": the list is empty";
  return why + ": the first has the id " + printable(json_member(images_.front().json, "id"));
}

void CocoFile::note_annotations(std::size_t captions, const std::string& other_type) {
  const std::string file = path_.filename().native();
  if (captions > 0)
    notes_.push_back(fmt::format("{} annotations of {} are captions and no objects: {} packs such",
                                 captions, file, opt("targets", "caption:FILE")));
  if (!other_type.empty())
    notes_.push_back(
        fmt::format("{} has ids as numbers in one list and as texts in another, which "
                    "are taken for the same: {}",
                    file, other_type));
}

std::vector<std::string_view> CocoFile::annotations_of(const Image& image) const {
  std::vector<std::string_view> texts;
  for (std::uint32_t i = image.first; i < image.first + image.annotations; ++i)
    texts.push_back(text().substr(annotations_[i].offset, annotations_[i].length));
  return texts;
}

std::string CocoFile::record(const Image& image) const {
  return fmt::format(R"({{"image":{},"annotations":[{}]}})", image.json,
                     fmt::join(annotations_of(image), ","));
}

void CocoFile::add_objects(const Image& image, ObjectBuilder& builder) const {
  std::size_t bytes = 0;
  for (const std::string_view annotation : annotations_of(image)) {
    bytes += annotation.size();
    if (bytes > JsonLimits{}.bytes)
      throw Error(ErrorKind::kCorrupt, "its annotations are larger than 16 MiB");
    add_object(annotation, builder);
  }
}

MaskSize CocoFile::add_objects(std::string_view record, ObjectBuilder& builder) const try {
  if (record.size() > JsonLimits{}.bytes) throw Error(ErrorKind::kCorrupt, "larger than 16 MiB");
  check_json(record);
  record.remove_prefix(record.find_first_not_of(" \t\r\n"));
  const MaskSize size = coco_size(value_of(record, "image"));
  for (const std::string_view annotation : list_of(value_of(record, "annotations"), "list"))
    add_object(annotation, builder);
  return size;
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kInterrupted) throw;
  throw Error(ErrorKind::kCorrupt, std::string("its annotations: ") + error.what());
}

void CocoFile::add_object(std::string_view annotation, ObjectBuilder& builder) const {
  std::string name = "an annotation";
  try {
    const CocoAnnotation read = read_coco_annotation(annotation);
    const auto said = [](std::string_view value) { return value != "null" ? value : ""; };
    if (!said(read.id).empty()) name = "annotation " + printable(read.id);
    if (read.is_caption()) return;
    if (said(read.category_id).empty()) return builder.problem(name, "it has no category_id");
    const auto label = labels_by_id_.find(id_of(read.category_id));
    if (!label)
      return builder.problem(name, "no category has the id " + printable(read.category_id));
    AnnotatedObject found = coco_object(read);
    found.label = label->place;
    builder.add(found, name);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    builder.problem(name, error.what());
  }
}

}  // namespace packhorse
