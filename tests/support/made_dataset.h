#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/format.h"
#include "packhorse/dataset/manifest.h"

/// Makes datasets sample by sample, without a source to pack.
namespace packhorse::test {

/// A sample that owns its bytes.
struct Row {
  std::string key;
  std::int64_t label = 0;
  std::string bytes;
  ImageInfo image = {ImageKind::kJpeg, 3, 8, 1, 10, 10};
  std::vector<std::optional<std::string>> fields = {};  ///< by place in the names; none: absent
  std::string path = {};                                ///< in the source
};

/// Adds a row to a writer. Fields that are absent are left out.
void add(ShardWriter& writer, const Row& row, const std::vector<std::string>& field_names);

struct MadeDataset {
  std::string format = "wds";
  int zstd_level = 0;
  std::vector<std::string> fields = {};
  std::string image_mode = "original";
  std::size_t shard_samples = 4;
  std::vector<std::string> classes = {"cats", "dogs"};
  std::vector<Row> rows = {};

  /// Writes shards, indexes, class list, manifest and sums.
  void write(const std::filesystem::path& path) const;

 private:
  ShardRecord write_shard(const std::filesystem::path& path, std::size_t shard) const;
};

/// Rewrites dataset.json and SHA256SUMS.
void put_manifest(const std::filesystem::path& dataset, const Manifest& manifest);

/// Changes a dataset's manifest, and the sums to match, as a forger would.
template <class Edit>
void edit_manifest(const std::filesystem::path& dataset, const Edit& edit) {
  Manifest manifest = Manifest::load(dataset);
  edit(manifest);
  put_manifest(dataset, manifest);
}

}  // namespace packhorse::test
