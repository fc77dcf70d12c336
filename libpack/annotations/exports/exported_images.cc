#include "annotations/exports/exported_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "annotations/coco_object.h"
#include "base/json.h"
#include "base/printable.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr std::size_t kMostPassedOver = 16;  // kinds that are told

void append_polygon(std::string& text, const std::vector<Point>& polygon) {
  text += text.ends_with('[') ? "[" : ",[";
  for (const Point& point : polygon)
    text += fmt::format("{}{},{}", text.ends_with('[') ? "" : ",", point.x, point.y);
  text += ']';
}

bool is_finite(const AnnotatedObject& object) {
  bool finite = std::isfinite(object.right - object.left) &&
                std::isfinite(object.bottom - object.top) && std::isfinite(object.left) &&
                std::isfinite(object.top);
  for (const std::vector<Point>& polygon : object.polygons)
    for (const Point& point : polygon)
      finite = finite && std::isfinite(point.x) && std::isfinite(point.y);
  return finite;
}

/// The members of COCO's annotation, but for its ids.
std::string members_of(const AnnotatedObject& object, const ExactJson& attributes) {
  std::string text = fmt::format(R"("bbox":[{},{},{},{}])", object.left, object.top,
                                 object.right - object.left, object.bottom - object.top);
  if (!object.polygons.empty()) {
    text += R"(,"segmentation":[)";
    for (const std::vector<Point>& polygon : object.polygons) append_polygon(text, polygon);
    text += ']';
  }
  if (object.mask) {
    const ExactJson counts = run_lengths_text(object.mask->counts);
    text += fmt::format(R"(,"segmentation":{{"size":[{},{}],"counts":{}}})",
                        object.mask->size.height, object.mask->size.width, utf8_json(counts));
  }
  if ((object.flags & kCrowd) != 0) text += R"(,"iscrowd":1)";
  for (const auto& [name, flag] : kOtherCocoFlags)
    if ((object.flags & flag) != 0) text += fmt::format(R"(,"{}":1)", name);
  if (!attributes.empty()) text += R"(,"attributes":)" + utf8_json(attributes);
  return text;
}

void scale_numbers(ExactJson& list, double width, double height) {
  bool across = true;
  for (ExactJson& value : list) {
    value = value.get<double>() * (across ? width : height);
    across = !across;
  }
}

}  // namespace

void ExportedImages::Image::set_size(std::uint32_t width, std::uint32_t height) {
  if (width_ + height_ > 0 && (width_ != width || height_ != height))
    problem("its size",
            fmt::format("it is {} x {}, and elsewhere {} x {}", width_, height_, width, height));
  width_ = width;
  height_ = height;
}

void ExportedImages::Image::problem(std::string_view name, std::string_view what) {
  problems_.push_back(fmt::format("{}: {}", name, what));
}

ExportedImages::Image& ExportedImages::image(const std::string& name) {
  const auto [at, added] = places_.emplace(name, images_.size());
  if (!added) return images_[at->second];
  Image& image = images_.emplace_back();
  image.name_ = name;
  return image;
}

std::uint32_t ExportedImages::add_class(std::string_view name) {
  const auto [at, added] =
      name_places_.emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  if (added) names_.emplace_back(name);
  return at->second;
}

void ExportedImages::add(Image& image, std::string_view class_name, const AnnotatedObject& object,
                         std::string_view name, const ExactJson& attributes) {
  if (class_name.empty()) return image.problem(name, "it has no class");
  if (!is_utf8(class_name)) return image.problem(name, "the name of its class is not in UTF-8");
  if (!is_finite(object)) return image.problem(name, "it has a number that is not finite");
  image.objects_.push_back({add_class(class_name), 0, members_of(object, attributes)});
}

void ExportedImages::pass_over(const std::string& what) {
  const auto known =
      std::ranges::find(passed_over_, what, &decltype(passed_over_)::value_type::first);
  if (known != passed_over_.end())
    ++known->second;
  else if (passed_over_.size() < kMostPassedOver)
    passed_over_.emplace_back(what, 1);
  else
    ++others_passed_over_;
}

std::vector<std::string> ExportedImages::class_names() const {
  std::vector<std::string> sorted = names_;
  std::ranges::sort(sorted);
  return sorted;
}

void ExportedImages::finish(const std::vector<std::string>& classes) {
  classes_ = classes;
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::unordered_map<std::string_view, std::uint32_t> labels;
  for (std::size_t i = 0; i < classes_.size(); ++i)
    labels.emplace(classes_[i], static_cast<std::uint32_t>(i));
  std::vector<std::uint32_t> label_of;
  for (const std::string& name : names_) {
    const auto found = labels.find(name);
    label_of.push_back(found == labels.end() ? kNone : found->second);
  }
  for (Image& image : images_) {
    for (std::size_t i = 0; i < image.objects_.size(); ++i) {
      Image::Object& object = image.objects_[i];
      object.label = label_of[object.name];
      if (object.label == kNone)
        image.problem(fmt::format("object {}", i + 1),
                      "no class is called '" + printable(names_[object.name]) + "'");
    }
  }
  for (const auto& [what, count] : passed_over_)
    notes_.push_back(fmt::format("not read, because they are not objects: {} {}", count, what));
  if (others_passed_over_ > 0)
    notes_.push_back(
        fmt::format("not read, because they are not objects: {} others", others_passed_over_));
}

std::string ExportedImages::coco_text() const {
  std::string text = R"({"categories":[)";
  for (std::size_t i = 0; i < classes_.size(); ++i)
    text += fmt::format(R"({}{{"id":{},"name":{}}})", i == 0 ? "" : ",", i,
                        utf8_json(ExactJson(classes_[i])));
  text += R"(],"images":[)";
  for (std::size_t i = 0; i < images_.size(); ++i) {
    const Image& image = images_[i];
    text += fmt::format(R"({}{{"id":{},"file_name":{})", i == 0 ? "" : ",", i,
                        utf8_json(ExactJson(image.name_)));
    if (image.width_ + image.height_ > 0)
      text += fmt::format(R"(,"width":{},"height":{})", image.width_, image.height_);
    text += '}';
  }
  text += R"(],"annotations":[)";
  std::size_t id = 0;
  for (std::size_t i = 0; i < images_.size(); ++i) {
    for (const Image::Object& object : images_[i].objects_) {
      text += fmt::format(R"({}{{"id":{},"image_id":{},"category_id":{},{}}})", id == 0 ? "" : ",",
                          id + 1, i, object.label, object.members);
      ++id;
    }
  }
  return text + "]}";
}

std::string exported_record(const std::string& record, std::string_view file_name,
                            const ImageInfo& image, bool fractions) {
  ExactJson json = parse_json(record);
  json["image"]["file_name"] = file_name;
  for (ExactJson& annotation : json["annotations"]) {
    if (!fractions) break;
    scale_numbers(annotation["bbox"], image.width, image.height);
    const auto outline = annotation.find("segmentation");
    if (outline == annotation.end()) continue;
    for (ExactJson& polygon : *outline) scale_numbers(polygon, image.width, image.height);
  }
  return utf8_json(json);
}

}  // namespace packhorse
