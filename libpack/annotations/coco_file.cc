#include "annotations/coco_file.h"

#include <fmt/format.h>

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

/// Members by which an annotation is of an object, whatever else it says.
constexpr std::string_view kObjectMembers[] = {"category_id", "bbox", "segmentation", "keypoints"};

constexpr std::size_t kMostBoxesLookedAt = 1000;

/// Whether the boxes that it is told of all lie within one pixel, as fractions of an image do.
class Fractions {
 public:
  void add(std::string_view annotation) {
    if (boxes_ == kMostBoxesLookedAt || !all_) return;
    const std::string_view box = json_member(annotation, "bbox");
    if (!box.starts_with('[')) return;
    const ExactJson list = parse_json(box);
    const auto within = [](const ExactJson& value) {
      return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1;
    };
    all_ = list.size() == 4 && std::all_of(list.begin(), list.end(), within);
    ++boxes_;
  }
  bool all() const { return all_ && boxes_ > 0; }

 private:
  std::size_t boxes_ = 0;
  bool all_ = true;
};

bool is_of_object(std::string_view member) {
  return std::ranges::find(kObjectMembers, member) != std::end(kObjectMembers);
}

/// What one annotation says that must be known before it is packed.
struct AnnotationIds {
  std::string_view image, category;
  bool caption = false;  ///< and no object
};

AnnotationIds ids_in(std::string_view annotation) {
  AnnotationIds ids;
  bool caption = false, object = false;
  if (!is_object(annotation)) throw Error(ErrorKind::kCorrupt, "it is no JSON object");
  for_each_member(annotation, [&](std::string_view quoted, std::string_view value) {
    const std::string name = json_characters(quoted);
    if (name == "image_id") ids.image = value;
    if (name == "category_id") ids.category = value;
    caption = caption || name == "caption";
    object = object || is_of_object(name);
    return true;
  });
  ids.caption = caption && !object;
  return ids;
}

}  // namespace

CocoFile::CocoFile(const std::filesystem::path& path) : path_(path), file_(path) { read(); }

CocoFile::CocoFile(const std::filesystem::path& path, std::string text, bool fractions)
    : path_(path), own_text_(std::move(text)), fractions_(fractions) {
  read();
}

void CocoFile::read() {
  const std::string_view text = this->text();
  try {
    check_json(text);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    refuse(error.what());
  }
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (!is_object(text.substr(begin))) refuse("it is no JSON object");
  std::string_view images, annotations, categories;
  for_each_member(text, [&](std::string_view name, std::string_view value) {
    for (const auto& [wanted, list] :
         {std::pair("\"images\"", &images), std::pair("\"annotations\"", &annotations),
          std::pair("\"categories\"", &categories)}) {
      if (name != wanted) continue;
      if (!list->empty()) refuse("it has " + std::string(wanted) + " twice");
      *list = value;
    }
    return true;
  });
  if (!is_array(images) || !is_array(annotations))
    refuse("it has no list of \"images\", or none of \"annotations\"");
  if (!is_array(categories)) refuse("it has no list of \"categories\"");
  read_categories(categories);
  read_images(images);
  read_annotations(annotations);
  head_ = coco_head(text);
  refuse_secrets_of_head();
}

void CocoFile::refuse_secrets_of_head() const try {
  if (has_secret(head_)) refuse_secrets(parse_json(head_), "text");
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kInterrupted) throw;
  refuse(error.what());
}

void CocoFile::refuse(const std::string& what) const {
  throw Error(ErrorKind::kUsage, "not an annotation file of COCO: " + what, path_,
              "correct it, or give a file of instances or key points");
}

void CocoFile::read_categories(std::string_view array) {
  std::vector<CocoCategory> categories;
  try {
    categories = read_coco_categories(array);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    refuse(error.what());
  }
  for (CocoCategory& category : categories) {
    labels_by_id_.add(id_of(category.id), static_cast<std::uint32_t>(classes_.size()));
    classes_.push_back(std::move(category.name));
    if (category.keypoints.empty()) continue;
    if (!keypoint_names_.empty() && keypoint_names_ != category.keypoints)
      refuse("its categories have different key points");
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
      const ExactJson parsed = parse_json(json);
      image.file_name = file_name_of(parsed);
      refuse_secrets(parsed, "text");
      const MaskSize size = coco_size(parsed);
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
    if (!table.has(id)) table.index_characters();
    const auto found = table.find(id);
    if (found && found->other_type && other_type.empty())
      other_type = fmt::format("annotation {} has the id {}", number, id);
    return found;
  };
  for_each_element(array, [&](std::string_view json) {
    ++number;
    if (json.size() > JsonLimits{}.bytes)
      refuse(fmt::format("annotation {} of its list is larger than 16 MiB", number));
    try {
      if (has_secret(json)) refuse_secrets(parse_json(json), "text");
      const AnnotationIds ids = ids_in(json);
      if (ids.image.empty()) throw Error(ErrorKind::kCorrupt, "it has no image_id");
      if (ids.caption) ++captions;
      if (!ids.category.empty()) known(labels_by_id_, ids.category);
      const auto image = known(images_by_id_, ids.image);
      if (!image) throw Error(ErrorKind::kCorrupt, why_no_image(ids.image));
      fractions.add(json);
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
  std::stable_sort(annotations_.begin(), annotations_.end(),
                   [](const Place& a, const Place& b) { return a.image < b.image; });
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
  for (std::uint32_t i = 0; i < image.annotations; ++i)
    texts.push_back(text_of(annotations_[image.first + i]));
  return texts;
}

void CocoFile::add_object(const ExactJson& annotation, ObjectBuilder& builder) const {
  std::string name = "an annotation";
  try {
    if (const ExactJson* id = find_value(annotation, "id"))
      name = "annotation " + printable(id->dump());
    const bool object = std::ranges::any_of(
        kObjectMembers, [&](std::string_view member) { return annotation.contains(member); });
    if (annotation.contains("caption") && !object) return;
    const std::string id = value_of(annotation, "category_id").dump();
    const auto label = labels_by_id_.find(id_of(id));
    if (!label) return builder.problem(name, "no category has the id " + printable(id));
    AnnotatedObject found = coco_object(annotation);
    found.label = label->place;
    builder.add(found, name);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    builder.problem(name, error.what());
  }
}

}  // namespace packhorse
