#include "annotations/write/coco_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "annotations/coco_head.h"
#include "annotations/coco_object.h"
#include "annotations/write/object_parts.h"
#include "base/json.h"
#include "base/json_slices.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kCopied = 1u << 20;  // bytes at once

std::string json_quoted(std::string_view text) { return utf8_json(nlohmann::json(text)); }

fs::path file_of(const NotedDataset& dataset) {
  const std::string split = dataset.split.empty() ? "" : "_" + dataset.split;
  make_directories(dataset.out / "annotations");
  return dataset.out / "annotations" / ("instances" + split + ".json");
}

/// The parts of a record. Bytes from a dataset that others may have written.
struct Record {
  std::string_view image, annotations;
};
Record parts_of(std::string_view text) {
  check_json(text);
  const Record record = {json_member(text, "image"), json_member(text, "annotations")};
  if (!record.image.starts_with('{') || !record.annotations.starts_with('['))
    throw Error(ErrorKind::kCorrupt, "its record has no image, or no annotations");
  return record;
}

std::string made_categories(const TargetRecord& target) {
  std::vector<std::string> all;
  std::string keypoints;
  if (!target.keypoints.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : target.keypoints) names.push_back(json_quoted(name));
    keypoints = fmt::format(R"(,"keypoints":[{}])", fmt::join(names, ","));
  }
  for (std::size_t label = 0; label < target.classes.size(); ++label)
    all.push_back(fmt::format(R"({{"id":{},"name":{}{}}})", label + 1,
                              json_quoted(target.classes[label]), keypoints));
  return fmt::format(R"({{"categories":[{}]}})", fmt::join(all, ",\n"));
}

std::string segmentation_of(const ObjectParts& object, const ImageInfo& image) {
  if (!object.counts.empty())
    return fmt::format(R"(,"segmentation":{{"size":[{},{}],"counts":{}}})", image.height,
                       image.width, json_quoted(run_lengths_text(object.counts)));
  if (object.polygons() == 0) return {};
  std::vector<std::string> polygons;
  for (std::size_t p = 0; p < object.polygons(); ++p) {
    std::vector<double> numbers;
    for (const Point& point : object.polygon(p)) numbers.insert(numbers.end(), {point.x, point.y});
    polygons.push_back(fmt::format("[{}]", fmt::join(numbers, ",")));
  }
  return fmt::format(R"(,"segmentation":[{}])", fmt::join(polygons, ","));
}

std::string keypoints_of(const ObjectParts& object) {
  if (object.keypoints.empty()) return {};
  std::vector<float> numbers;
  for (const Keypoint& point : object.keypoints)
    numbers.insert(numbers.end(), {point.x, point.y, point.visibility});
  const auto labelled = std::ranges::count_if(
      object.keypoints, [](const Keypoint& point) { return point.visibility > 0; });
  return fmt::format(R"(,"keypoints":[{}],"num_keypoints":{})", fmt::join(numbers, ","), labelled);
}

/// Everything of an object after its ids.
std::string members_of(const ObjectParts& object, const ImageInfo& image) {
  const double left = object.box.left, top = object.box.top;
  const double width = object.box.right - left, height = object.box.bottom - top;
  std::string text = object.area.empty() ? fmt::format(R"("bbox":[{},{},{},{}],"area":{})", left,
                                                       top, width, height, width * height)
                                         : fmt::format(R"("bbox":[{},{},{},{}],"area":{})", left,
                                                       top, width, height, object.area.front());
  text += fmt::format(R"(,"iscrowd":{})", (object.flags & kCrowd) != 0 ? 1 : 0);
  for (const auto& [name, flag] : kOtherCocoFlags) {
    if ((object.flags & flag) != 0) text += fmt::format(R"(,"{}":1)", name);
  }
  return text + segmentation_of(object, image) + keypoints_of(object);
}

/// Whether a file's name in a record can be a path below a folder.
bool stays_below(const fs::path& name) {
  return name.has_filename() && name.is_relative() && name == name.lexically_normal() &&
         name != "." && *name.begin() != ".." && name.native().find('\0') == std::string::npos;
}

}  // namespace

CocoWriter::CocoWriter(const NotedDataset& dataset)
    : dataset_(dataset), file_(file_of(dataset)), annotations_(file_of(dataset) += ".annotations") {
  std::string head = dataset.target.head;
  if (head.empty()) head = made_categories(dataset.target);
  category_ids_ = kept_category_ids(head, dataset.target.classes.size());
  begin(head);
}

void CocoWriter::begin(std::string_view head) {
  std::string text = "{\n";
  for_each_member(head, [&](std::string_view name, std::string_view value) {
    text.append(name).append(":").append(value).append(",\n");
    return true;
  });
  file_.write(as_bytes(text + "\"images\":["));
}

fs::path CocoWriter::images() const { return fs::path("images") / dataset_.split; }

fs::path CocoWriter::place(const fs::path& path, std::string_view text, Unsaid& unsaid) const {
  if (!dataset_.told_by_text) return NotationWriter::place(path, text, unsaid);
  const std::string_view name = json_member(parts_of(text).image, "file_name");
  if (!name.starts_with('"')) throw Error(ErrorKind::kCorrupt, "its record names no file");
  fs::path file = json_characters(name);
  if (stays_below(file)) return file;
  ++unsaid["names of files that lead elsewhere: the images are at the paths of the dataset"];
  return NotationWriter::place(path, text, unsaid);
}

void CocoWriter::add(const NotedSample& sample) {
  file_.write(as_bytes(std::string_view(first_image_ ? "\n" : ",\n")));
  first_image_ = false;
  if (dataset_.told_by_text)
    add_record(sample);
  else
    add_made(sample);
}

void CocoWriter::add_annotation(std::string_view json) {
  annotations_.write(as_bytes(std::string_view(first_annotation_ ? "\n" : ",\n")));
  first_annotation_ = false;
  annotations_.write(as_bytes(json));
}

void CocoWriter::add_record(const NotedSample& sample) {
  const Record record = parts_of(sample.text);
  file_.write(as_bytes(record.image));
  for_each_element(record.annotations, [&](std::string_view json) { add_annotation(json); });
}

void CocoWriter::add_made(const NotedSample& sample) {
  const ImageInfo& image = sample.image;
  const std::uint64_t id = sample.number + 1;
  file_.write(as_bytes(fmt::format(R"({{"id":{},"file_name":{},"width":{},"height":{}}})", id,
                                   json_quoted(sample.place.native()), image.width, image.height)));
  for (std::size_t i = 0; i < sample.objects.size(); ++i) {
    const ObjectParts object(sample.objects, i);
    add_annotation(fmt::format(R"({{"id":{},"image_id":{},"category_id":{},{}}})", ++made_, id,
                               category_ids_.at(static_cast<std::size_t>(object.label)),
                               members_of(object, image)));
  }
}

void CocoWriter::copy_annotations() {
  annotations_.flush();
  std::vector<std::byte> buffer(kCopied);
  for (std::uint64_t at = 0; at < annotations_.position();) {
    const std::span<std::byte> piece = std::span(buffer).first(
        std::min<std::uint64_t>(buffer.size(), annotations_.position() - at));
    read_exactly(annotations_.fd(), at, piece, annotations_.temporary());
    file_.write(piece);
    at += piece.size();
  }
}

std::uint64_t CocoWriter::finish() {
  file_.write(as_bytes(std::string_view("\n],\n\"annotations\":[")));
  copy_annotations();
  file_.write(as_bytes(std::string_view("\n]\n}\n")));
  file_.commit();
  return file_.position();
}

}  // namespace packhorse
