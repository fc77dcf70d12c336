#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "dataset/dataset_directory.h"
#include "dataset/shard_index.h"
#include "dataset/shard_pool.h"
#include "packhorse/analysis/diff.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/dataset/packed_dataset.h"

namespace packhorse {

/// One of two datasets that are compared, without its shards: as many indexes as a process may keep
/// are open. One thread.
class DiffSide {
 public:
  /// Throws as diff_datasets().
  explicit DiffSide(const std::filesystem::path& path);

  /// What the index says of a sample. The views hold as long as this.
  class Row {
   public:
    Row(const DiffSide& side, std::size_t shard, std::size_t row)
        : side_(&side), held_(side.index(shard)), shard_(shard), row_(row) {}
    std::size_t shard() const { return shard_; }
    std::size_t row() const { return row_; }
    std::string_view key() const { return index().key(row_); }
    std::string_view path() const { return index().path(row_); }
    /// Hash and length of the image.
    std::pair<std::uint64_t, std::uint64_t> content() const {
      return {index().hash(row_), index().range(row_).length};
    }
    ImageInfo image() const { return index().image(row_); }
    std::string_view class_name() const;
    /// The fields it has, by name, hash and length.
    std::vector<std::tuple<std::string_view, std::uint64_t, std::uint64_t>> fields() const;
    SampleRef ref() const;

   private:
    const ShardIndex& index() const { return held_->index; }
    const DiffSide* side_;
    ShardPool::ShardPtr held_;
    std::size_t shard_, row_;
  };
  Row row(std::uint64_t sample) const;
  /// Calls visit(sample, row) for all, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t shard = 0; shard < manifest_.shards.size(); ++shard) {
      const std::uint64_t first = manifest_.shards[shard].first_sample;
      for (std::size_t i = 0; i < manifest_.shards[shard].samples; ++i)
        visit(first + i, Row(*this, shard, i));
    }
  }
  const Manifest& manifest() const { return manifest_; }
  const std::vector<std::string>& classes() const { return classes_; }
  std::uint64_t size() const { return manifest_.samples; }

 private:
  ShardPool::ShardPtr index(std::size_t shard) const;

  DatasetDirectory directory_;
  Manifest manifest_;
  std::vector<std::string> classes_;
  std::unique_ptr<ShardPool> open_;
};

}  // namespace packhorse
