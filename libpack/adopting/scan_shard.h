#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/foreign_shard.h"
#include "packhorse/adopting/adopt.h"
#include "packhorse/base/progress.h"
#include "sources/source.h"

namespace packhorse {

/// What one shard holds. Each of its bytes is read once. About 100 bytes a sample beside the key.
struct ScannedShard {
  struct Row {
    ByteRange range;
    std::uint64_t hash = 0;
    ImageInfo image;
    std::int32_t label = -1;    ///< place in `labels`; -1: none
    std::uint64_t key_end = 0;  ///< where its key ends in `keys`
    Problem problem = {};       ///< while scanning: why it is rejected
  };
  std::string layout;
  std::vector<std::string> fields;  ///< sorted
  std::vector<Row> rows;
  std::string keys;
  std::vector<std::string> labels;          ///< texts, without repeats
  std::vector<ByteRange> field_ranges;      ///< fields.size() a row; kAbsent where it has none
  std::vector<std::uint64_t> field_hashes;  ///< likewise; 0 where it has none
  std::vector<Reject> rejects;
  std::vector<Skip> skips;
  std::uint64_t bytes = 0;  ///< of the data file
  std::string sha256;

  std::string_view key(std::size_t row) const {
    const std::uint64_t begin = row == 0 ? 0 : rows[row - 1].key_end;
    return std::string_view(keys).substr(begin, rows[row].key_end - begin);
  }
};

/// Finds the samples through the format's library (describe.h), then reads the file once from start
/// to end: takes the SHA-256 of the whole, checks of each piece whether it is an image, and takes
/// its XXH3. A sample that is no usable image, lies outside the file or overlaps another is
/// rejected under the path `name`/key. Throws Error(kIo) when the file changes meanwhile,
/// Error(kInterrupted).
ScannedShard scan_shard(const ForeignFormat& format, const std::filesystem::path& data_file,
                        const std::string& name, const AdoptOptions& options, Progress& progress);

}  // namespace packhorse
