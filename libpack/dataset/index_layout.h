#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/xxh3.h"
#include "dataset/index_rows.h"
#include "dataset/shard_layout.h"
#include "packhorse/base/bytes.h"

/// The bytes of a shard's index that its writer and its reader share; shard_index.h draws them.
namespace packhorse::index_layout {

static_assert(std::endian::native == std::endian::little, "the index is mapped as it is on disk");

inline constexpr char kMagic[8] = {'P', 'H', 'I', 'N', 'D', 'E', 'X', '1'};
inline constexpr std::size_t kAlignment = 64;
inline constexpr std::uint32_t kRequired =
    1;  ///< section flag: a reader that does not know it must refuse

struct Header {
  char magic[8];
  std::uint32_t header_bytes;
  std::uint32_t sections;
  std::uint64_t samples;
  std::uint64_t data_bytes;
  std::uint64_t file_bytes;
  std::uint64_t reserved[2];
  std::uint64_t checksum;  ///< XXH3 of the whole file with this field zero
};
static_assert(sizeof(Header) == 64);

struct Section {
  std::uint32_t id;
  std::uint32_t flags;
  std::uint64_t offset;
  std::uint64_t length;
};
static_assert(sizeof(Section) == 24);

enum SectionId : std::uint32_t {
  kRanges = 1,
  kHashes = 2,
  kLabels = 3,
  kImages = 4,
  kKeyEnds = 5,
  kKeys = 6,
  kPathEnds = 7,
  kPaths = 8,
  kFieldEnds = 9,
  kFieldNames = 10,
  kFieldRanges = 11,
  kFieldHashes = 12,
  kFrames = 13,
  kBlockSums = 14,
  kSectionIds,
};

static_assert(sizeof(Frame) == 32 && sizeof(ByteRange) == 16);

struct ImageRow {
  std::uint32_t width, height;
  std::uint8_t kind, components, bit_depth, orientation;
};
static_assert(sizeof(ImageRow) == IndexColumns::kImageRowBytes);

/// Larger indexes have a checksum for each block of rows.
inline constexpr std::size_t kMostWithoutSums = 8 * kBlockRows;

inline std::uint64_t blocks_of(std::uint64_t rows) {
  return rows / kBlockRows + (rows % kBlockRows == 0 ? 0 : 1);
}

/// XXH3 of a file, or of its beginning, with the checksum in its header counted as zero.
class Checksum {
 public:
  explicit Checksum(Bytes header) {
    constexpr std::uint64_t kZero = 0;
    XXH3_64bits_reset(&state_);
    add(header.first(offsetof(Header, checksum)));
    add(std::as_bytes(std::span(&kZero, 1)));
  }
  void add(Bytes bytes) { XXH3_64bits_update(&state_, bytes.data(), bytes.size()); }
  std::uint64_t finish() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace packhorse::index_layout
