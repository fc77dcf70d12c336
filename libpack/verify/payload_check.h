#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dataset/shard_index.h"
#include "packhorse/base/progress.h"

namespace packhorse {

/// A piece of a sample whose bytes are not the ones that were packed.
struct DamagedPiece {
  std::size_t row = 0;
  std::optional<std::size_t> field;  ///< its place in ShardIndex::fields(); none: the image
  ByteRange range;                   ///< in the file; if compressed, of the sample's frame
  std::string detail;                ///< a sentence for people
};

struct ShardBytes {
  std::string sha256;                ///< of the file
  std::vector<DamagedPiece> damage;  ///< in the order of samples
};

/// Reads an open data file once, from start to end, for its SHA-256 and, with an index, the hash of
/// every image and field. Counts the bytes read in `progress`. Throws Error(kInterrupted), and
/// Error(kCorrupt) when the index's frames overlap.
ShardBytes check_bytes(int fd, const std::filesystem::path& data_file, std::uint64_t bytes,
                       const ShardIndex* index, Progress& progress);

/// Checks only some rows, each read by itself. Counts them in `progress` as bytes only.
std::vector<DamagedPiece> check_rows(int fd, const std::filesystem::path& data_file,
                                     const ShardIndex& index, std::size_t first, std::size_t rows,
                                     Progress& progress);

/// Reads one image, decompressed if the shard is compressed, without checking its hash. Throws
/// Error(kCorrupt).
void read_image(int fd, const std::filesystem::path& data_file, const ShardIndex& index,
                std::size_t row, std::vector<std::byte>& out);

}  // namespace packhorse
