#include "loader/targets_reader.h"

#include <algorithm>

#include "base/printable.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

void check_labels(const std::vector<std::int32_t>& labels, std::size_t classes, const char* what) {
  for (const std::int32_t label : labels) {
    if (static_cast<std::size_t>(label) >= classes)
      throw Error(ErrorKind::kCorrupt,
                  std::string(what) + " has a class that the dataset does not have");
  }
}

}  // namespace

TargetsReader::TargetsReader(const Dataset& dataset) : dataset_(dataset) {
  if (dataset.targets().empty())
    throw Error(ErrorKind::kUsage, "the dataset has no targets", {},
                "pack it with `targets=`, or read it without targets");
  for (const TargetRecord& target : dataset.targets()) {
    if (target.kind == kObjectsTarget) {
      objects_ = place_of(target);
      keypoints_ = target.keypoints.size();
    } else if (target.kind == kClassesTarget) {
      classes_ = place_of(target);
    } else if (target.kind == kCaptionTarget) {
      caption_ = place_of(target);
    } else if (target.kind == kMaskTarget) {
      mask_ = place_of(target);
      ignored_ = target.ignore.value_or(kIgnoredLabel);
    } else {
      throw Error(ErrorKind::kUnsupported,
                  "the dataset has targets of a kind that this packhorse does not know: " +
                      printable(target.kind),
                  {}, "read it with the version that packed it, or without targets");
    }
  }
}

TargetsReader::Place TargetsReader::place_of(const TargetRecord& target) const {
  const auto& fields = dataset_.fields();
  const auto found = std::ranges::find(fields, target.name);
  if (found == fields.end())
    throw Error(ErrorKind::kCorrupt, "the dataset has targets, but not the field that holds them");
  return {static_cast<std::size_t>(found - fields.begin()), target.classes.size()};
}

bool TargetsReader::read_field(const std::optional<Place>& place, std::uint64_t sample,
                               std::vector<std::byte>& scratch) const {
  return place && dataset_.read_field(sample, place->field, scratch);
}

StoredTargets TargetsReader::read(std::uint64_t sample, const ImageInfo& info,
                                  std::vector<std::byte>& scratch) const {
  StoredTargets targets;
  if (objects_) {
    if (!read_field(objects_, sample, scratch))
      throw Error(ErrorKind::kCorrupt, "the field that holds its objects is missing");
    targets.objects = decode_objects(scratch);
    check_labels(targets.objects.labels, objects_->classes, "an object");
    check_masks(targets.objects, info.height, info.width);
  }
  if (classes_) {
    if (!read_field(classes_, sample, scratch))
      throw Error(ErrorKind::kCorrupt, "the field that holds its classes is missing");
    targets.classes = decode_classes(scratch);
    check_labels(targets.classes.labels, classes_->classes, "the sample");
  }
  if (read_field(caption_, sample, scratch)) targets.caption = as_text(scratch);
  if (read_field(mask_, sample, scratch))
    targets.mask = decode_label_image(scratch, info.width, info.height);
  return targets;
}

}  // namespace packhorse::reader
