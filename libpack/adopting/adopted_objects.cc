#include "adopting/adopted_objects.h"

#include <algorithm>

#include "annotations/sample_targets.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/dataset/shard_index.h"
#include "packhorse/targets/objects.h"

namespace packhorse {

namespace {

void check_objects(Bytes field, const TargetRecord& target) {
  const Objects objects = decode_objects(field);
  for (const std::int32_t label : objects.labels) {
    if (label < 0 || static_cast<std::size_t>(label) >= target.classes.size())
      throw Error(ErrorKind::kCorrupt, "an object's class is none of those given");
  }
  if (!objects.keypoints_each.empty() && objects.keypoints_each.front() != target.keypoints.size())
    throw Error(ErrorKind::kCorrupt, "its objects have another number of key points");
}

void check_shard(const std::filesystem::path& file, const ScannedShard& shard,
                 const std::vector<std::int32_t>& labels, const TargetRecord& target) {
  const auto found = std::find(shard.fields.begin(), shard.fields.end(), target.name);
  const UniqueFd fd = open_for_reading(file);
  std::vector<std::byte> field;
  for (std::size_t row = 0; row < shard.rows.size(); ++row) {
    if (labels[row] < 0) continue;  // it is rejected
    const std::size_t at =
        row * shard.fields.size() + static_cast<std::size_t>(found - shard.fields.begin());
    try {
      if (found == shard.fields.end() || shard.field_ranges[at].offset == kAbsent.offset)
        throw Error(ErrorKind::kCorrupt, "its field '" + target.name + "' is missing");
      field.resize(shard.field_ranges[at].length);
      read_exactly(fd.get(), shard.field_ranges[at].offset, field, file);
      check_objects(field, target);
    } catch (const Error& error) {
      if (!error.path().empty()) throw;
      throw Error(ErrorKind::kCorrupt, error.what(), file,
                  "give the annotations' own `targets=`, or leave it out",
                  std::string(shard.key(row)));
    }
  }
}

}  // namespace

std::optional<TargetRecord> adopted_objects(const NamedShards& named,
                                            const std::vector<ScannedShard>& scanned,
                                            const MergedShards& merged,
                                            const TargetOptions& options) {
  if (options.empty()) return std::nullopt;
  const SampleTargets targets(options);
  TargetRecord target = targets.target();
  if (std::find(merged.fields.begin(), merged.fields.end(), target.name) == merged.fields.end())
    throw Error(ErrorKind::kUsage,
                "the shards have no field '" + target.name +
                    "', and nothing can be added to them where they are",
                named.shards.front().entry, "pack them: packhorse pack SHARDS OUT --targets ...");
  if (options.has_files()) target.head = targets.head("");
  for (std::size_t i = 0; i < scanned.size(); ++i)
    check_shard(named.shards[i].data_file(), scanned[i], merged.labels[i], target);
  return target;
}

}  // namespace packhorse
