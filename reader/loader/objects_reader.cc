#include "packhorse/reader/objects_reader.h"

#include <algorithm>

#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

constexpr std::string_view kObjects = "objects";  // a target's kind

const TargetRecord& objects_of(const Dataset& dataset) {
  for (const TargetRecord& target : dataset.targets()) {
    if (target.kind == kObjects) return target;
  }
  throw Error(ErrorKind::kUsage, "the dataset has no objects", {},
              "pack it with --targets, or read it without targets");
}

}  // namespace

ObjectsReader::ObjectsReader(const Dataset& dataset)
    : dataset_(dataset),
      field_(0),
      classes_(objects_of(dataset).classes.size()),
      keypoints_(objects_of(dataset).keypoints.size()) {
  const auto& fields = dataset.fields();
  const auto found = std::find(fields.begin(), fields.end(), objects_of(dataset).name);
  if (found == fields.end())
    throw Error(ErrorKind::kCorrupt, "the dataset has targets, but not the field that holds them");
  field_ = static_cast<std::size_t>(found - fields.begin());
}

Objects ObjectsReader::read(std::uint64_t sample, std::vector<std::byte>& scratch) const {
  if (!dataset_.read_field(sample, field_, scratch))
    throw Error(ErrorKind::kCorrupt, "the field that holds its objects is missing");
  Objects objects = decode_objects(scratch);
  for (const std::int32_t label : objects.labels) {
    if (static_cast<std::size_t>(label) >= classes_)
      throw Error(ErrorKind::kCorrupt, "an object has a class that the dataset does not have");
  }
  return objects;
}

}  // namespace packhorse::reader
