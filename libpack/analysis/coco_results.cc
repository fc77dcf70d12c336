#include "analysis/coco_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "annotations/coco_file.h"
#include "annotations/coco_head.h"
#include "base/json.h"
#include "base/json_slices.h"
#include "base/printable.h"
#include "packhorse/base/error.h"
#include "targets/pixel_map.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// In pixels of the stored image.
PlainBox as_stored(const PlainBox& box, const ImageInfo& image) {
  const PixelMap map = upright_map(image);
  const Point a = map.undo({box.x, box.y});
  const Point b = map.undo({box.x + box.width, box.y + box.height});
  return {std::min(a.x, b.x), std::min(a.y, b.y), std::abs(a.x - b.x), std::abs(a.y - b.y)};
}

}  // namespace

CocoIds::CocoIds(std::size_t classes) {
  for (std::size_t label = 0; label < classes; ++label)
    classes_.push_back(std::to_string(label + 1));
}

CocoIds CocoIds::of_head(std::string_view head, std::size_t classes) {
  CocoIds ids(0);
  ids.classes_ = kept_category_ids(head, classes);
  return ids;
}

CocoIds CocoIds::of_file(const fs::path& path, const std::vector<std::string>& classes) {
  const CocoFile file(path);
  std::map<std::string, std::string> id_of;
  for (CocoCategory& category : read_coco_categories(json_member(file.head(), "categories")))
    id_of.emplace(std::move(category.name), std::move(category.id));
  CocoIds ids(0);
  for (const std::string& name : classes) {
    const auto found = id_of.find(name);
    if (found == id_of.end())
      throw Error(ErrorKind::kUsage,
                  fmt::format("it has no category '{}', which the model finds", printable(name)),
                  path, "give annotations of the images with the model's classes");
    ids.classes_.push_back(found->second);
  }
  for (const CocoFile::Image& image : file.images()) {
    const auto [place, is_new] =
        ids.images_.emplace(fs::path(image.file_name).filename(), json_member(image.json, "id"));
    if (!is_new) place->second.clear();
  }
  return ids;
}

std::optional<std::string> CocoIds::of_image(const std::string& file_name) const {
  const auto found = images_.find(fs::path(file_name).filename());
  if (found == images_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::string CocoIds::of_record(std::string_view text) {
  check_json(text);
  const std::string_view id = json_member(json_member(text, "image"), "id");
  if (id.empty()) throw Error(ErrorKind::kCorrupt, "what it keeps of COCO's file says no image id");
  return std::string(id);
}

CocoResults::CocoResults(const fs::path& file, CocoIds ids) : ids_(std::move(ids)), file_(file) {
  file_.write(as_bytes("["));
}

void CocoResults::add(std::string_view image_id, const ImageInfo& image,
                      std::span<const Detection> detections) {
  for (const Detection& one : detections) {
    const PlainBox box = as_stored(one.box, image);
    const auto number = [](double value) { return static_cast<float>(value); };
    file_.write(as_bytes(
        fmt::format(R"({}{{"image_id":{},"category_id":{},"bbox":[{},{},{},{}],"score":{}}})",
                    first_ ? "\n" : ",\n", image_id, ids_.of_class(one.label), number(box.x),
                    number(box.y), number(box.width), number(box.height), number(one.score))));
    first_ = false;
  }
}

void CocoResults::finish() {
  file_.write(as_bytes("\n]\n"));
  file_.commit();
}

}  // namespace packhorse
