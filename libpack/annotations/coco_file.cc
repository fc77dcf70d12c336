#include "annotations/coco_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "annotations/coco_object.h"
#include "base/json_slices.h"
#include "packhorse/base/error.h"
#include "packhorse/base/json.h"
#include "packhorse/base/printable.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostProblems = 1000;  // that are kept in words

/// The member of an object by its name, as it is written; empty where there is none.
std::string_view member(std::string_view object, std::string_view name) {
  std::string_view found;
  for_each_member(object, [&](std::string_view quoted, std::string_view value) {
    if (quoted.substr(1, quoted.size() - 2) == name) found = value;
    return found.empty();
  });
  return found;
}

bool is_array(std::string_view json) { return json.starts_with('['); }
bool is_object(std::string_view json) { return json.starts_with('{'); }

/// A category before labels are given.
struct Category {
  std::string id, name;
  std::vector<std::string> keypoints;
};

/// Ids as numbers where both are, so that 9 comes before 10.
bool by_id(const Category& a, const Category& b) {
  const auto number = [](const std::string& id) { return ExactJson::parse(id, nullptr, false); };
  const ExactJson x = number(a.id), y = number(b.id);
  return x.is_number_integer() && y.is_number_integer()
             ? x.get<std::int64_t>() < y.get<std::int64_t>()
             : a.id < b.id;
}

}  // namespace

CocoFile::CocoFile(const std::filesystem::path& path) : path_(path), file_(path) {
  const std::string_view text = as_text(file_.bytes());
  try {
    check_json(text);
  } catch (const Error& error) {
    refuse(error.what());
  }
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (!is_object(text.substr(begin))) refuse("it is no JSON object");
  std::string_view images, annotations, categories;
  for_each_member(text, [&](std::string_view name, std::string_view value) {
    if (name == "\"images\"") images = value;
    if (name == "\"annotations\"") annotations = value;
    if (name == "\"categories\"") categories = value;
    return true;
  });
  if (!is_array(images) || !is_array(annotations))
    refuse("it has no list of \"images\", or none of \"annotations\"");
  if (!is_array(categories)) refuse("it has no list of \"categories\"");
  read_categories(categories);
  read_images(images);
  read_annotations(annotations);
}

void CocoFile::refuse(const std::string& what) const {
  throw Error(ErrorKind::kUsage, "not an annotation file of COCO: " + what, path_);
}

void CocoFile::read_categories(std::string_view array) {
  std::vector<Category> categories;
  for_each_element(array, [&](std::string_view json) {
    const std::string_view id = is_object(json) ? member(json, "id") : std::string_view();
    const std::string_view name = id.empty() ? id : member(json, "name");
    if (!name.starts_with('"')) refuse("a category has no id or no name");
    Category& category =
        categories.emplace_back(Category{std::string(id), json_characters(name), {}});
    const std::string_view keypoints = member(json, "keypoints");
    if (is_array(keypoints)) {
      for_each_element(keypoints, [&](std::string_view point) {
        if (!point.starts_with('"')) refuse("a key point's name is no text");
        category.keypoints.push_back(json_characters(point));
      });
    }
  });
  std::stable_sort(categories.begin(), categories.end(), by_id);
  for (Category& category : categories) {
    const auto label = static_cast<std::uint32_t>(classes_.size());
    if (!label_of_id_.emplace(category.id, label).second)
      refuse("the category id " + category.id + " is there twice");
    if (std::find(classes_.begin(), classes_.end(), category.name) != classes_.end())
      refuse("two categories are called " + printable(category.name));
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
      image.width = parsed.at("width").get<std::uint32_t>();
      image.height = parsed.at("height").get<std::uint32_t>();
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
  const char* const begin = as_text(file_.bytes()).data();
  std::size_t number = 0, astray = 0;
  for_each_element(array, [&](std::string_view json) {
    ++number;
    const std::string_view id = is_object(json) ? member(json, "image_id") : std::string_view();
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

std::string_view CocoFile::text_of(const Place& place) const {
  return as_text(file_.bytes()).substr(place.offset, place.length);
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
