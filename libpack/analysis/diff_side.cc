#include "analysis/diff_side.h"

#include <algorithm>

#include "dataset/class_list.h"
#include "dataset/shard_index.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

const fs::path& checked(const fs::path& path) {
  if (!is_packed_dataset(path))
    static_cast<void>(find_datasets(path));  // throws with the right advice
  return path;
}

}  // namespace

DiffSide::DiffSide(const fs::path& path)
    : directory_(checked(path)),
      manifest_(Manifest::load(directory_)),
      classes_(classes_of(directory_, manifest_)),
      open_(std::make_unique<ShardPool>(manifest_.shards.size(), 1, false)) {
  for (std::size_t shard = 0; shard < manifest_.shards.size() && open_->keeps_all(); ++shard)
    index(shard);  // all that is damaged is found, whatever the samples
}

ShardPool::ShardPtr DiffSide::index(std::size_t shard) const {
  if (ShardPool::ShardPtr open = open_->find(shard)) return open;
  return open_->keep(shard, std::make_shared<OpenShard>(
                                open_index(directory_, manifest_.shards[shard], manifest_)));
}

DiffSide::Row DiffSide::row(std::uint64_t sample) const {
  const std::vector<ShardRecord>& shards = manifest_.shards;
  const auto after = std::upper_bound(
      shards.begin(), shards.end(), sample,
      [](std::uint64_t value, const ShardRecord& record) { return value < record.first_sample; });
  const auto shard = static_cast<std::size_t>(after - shards.begin()) - 1;
  return {*this, shard, sample - shards[shard].first_sample};
}

std::string_view DiffSide::Row::class_name() const {
  const auto label = static_cast<std::size_t>(index().label(row_));
  return label < side_->classes_.size() ? side_->classes_[label] : std::string_view();
}

std::vector<std::tuple<std::string_view, std::uint64_t, std::uint64_t>> DiffSide::Row::fields()
    const {
  std::vector<std::tuple<std::string_view, std::uint64_t, std::uint64_t>> fields;
  for (std::size_t field = 0; field < index().fields().size(); ++field) {
    if (!index().has_field(row_, field)) continue;
    fields.emplace_back(index().fields()[field], index().field_hash(row_, field),
                        index().field_range(row_, field).length);
  }
  return fields;
}

SampleRef DiffSide::Row::ref() const {
  const ShardRecord& shard = side_->manifest_.shards[shard_];
  return {shard.first_sample + row_, std::string(key()), std::string(path()),
          std::string(class_name()), shard.file,         row_};
}

}  // namespace packhorse
