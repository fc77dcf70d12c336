#include "annotations/coco_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "annotations/coco_head.h"
#include "annotations/coco_object.h"
#include "base/json_slices.h"
#include "packhorse/base/error.h"
#include "packhorse/base/json.h"
#include "packhorse/base/printable.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostProblems = 1000;  // that are kept in words

bool is_array(std::string_view json) { return json.starts_with('['); }
bool is_object(std::string_view json) { return json.starts_with('{'); }

}  // namespace

CocoFile::CocoFile(const std::filesystem::path& path) : path_(path), file_(path) { read(); }

CocoFile::CocoFile(const std::filesystem::path& path, std::string text)
    : path_(path), own_text_(std::move(text)) {
  read();
}

void CocoFile::read() {
  const std::string_view text = this->text();
  try {
    check_json(text);
  } catch (const Error& error) {
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
    refuse(error.what());
  }
  for (CocoCategory& category : categories) {
    label_of_id_.emplace(category.id, static_cast<std::uint32_t>(classes_.size()));
    classes_.push_back(std::move(category.name));
    if (category.keypoints.empty()) continue;
    if (!keypoint_names_.empty() && keypoint_names_ != category.keypoints)
      refuse("its categories have different key points");
    keypoint_names_ = std::move(category.keypoints);
  }
}

void CocoFile::read_images(std::string_view array) {
  for_each_element(array, [&](std::string_view json) {
    const auto number = static_cast<std::uint32_t>(images_.size());
    if (number == std::numeric_limits<std::uint32_t>::max()) refuse("it has too many images");
    Image image{json, {}, 0, 0, 0, 0};
    try {
      const auto parsed = parse_json(json);
      image.file_name = parsed.at("file_name").get<std::string>();
      if (own_text_.empty() || parsed.contains("width") || parsed.contains("height")) {
        image.width = parsed.at("width").get<std::uint32_t>();
        image.height = parsed.at("height").get<std::uint32_t>();
      }
      const std::string id = parsed.at("id").dump();
      if (!image_of_id_.emplace(id, number).second)
        refuse("the image id " + id + " is there twice");
    } catch (const ExactJson::exception& error) {
      refuse(fmt::format("image {} of its list: {}", number + 1, json_problem(error)));
    }
    images_.push_back(std::move(image));
  });
}

void CocoFile::read_annotations(std::string_view array) {
  const char* const begin = text().data();
  std::size_t number = 0, astray = 0;
  for_each_element(array, [&](std::string_view json) {
    ++number;
    const std::string_view id = json_member(json, "image_id");
    const auto image = image_of_id_.find(std::string(id));
    if (image == image_of_id_.end() || json.size() > JsonLimits{}.bytes) {
      if (++astray <= kMostProblems)
        problems_.push_back(fmt::format("annotation {} of the list: no image has the id {}", number,
                                        id.empty() ? "it lacks" : printable(std::string(id))));
      return;
    }
    annotations_.push_back({image->second, static_cast<std::uint32_t>(json.size()),
                            static_cast<std::uint64_t>(json.data() - begin)});
  });
  if (astray > kMostProblems)
    problems_.push_back(
        fmt::format("{} more annotations without an image", astray - kMostProblems));
  std::stable_sort(annotations_.begin(), annotations_.end(),
                   [](const Place& a, const Place& b) { return a.image < b.image; });
  for (std::uint32_t i = 0; i < annotations_.size(); ++i) {
    Image& image = images_[annotations_[i].image];
    if (image.annotations++ == 0) image.first = i;
  }
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
    if (annotation.contains("id")) name = "annotation " + printable(annotation["id"].dump());
    if (annotation.contains("caption")) return;
    const auto label = label_of_id_.find(annotation.at("category_id").dump());
    if (label == label_of_id_.end())
      return builder.problem(
          name, "no category has the id " + printable(annotation["category_id"].dump()));
    AnnotatedObject object = coco_object(annotation);
    object.label = label->second;
    builder.add(object, name);
  } catch (const ExactJson::exception& error) {
    builder.problem(name, json_problem(error));
  } catch (const Error& error) {
    builder.problem(name, error.what());
  }
}

}  // namespace packhorse
