#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "jpeg/decode/frame.h"
#include "jpeg/decode/huffman.h"

namespace packhorse::jpeg {

/// What each block of an MCU is decoded with.
struct BlockPlan {
  struct Block {
    const DcTable* dc = nullptr;
    const AcTable* ac = nullptr;
    std::uint32_t component = 0;
  };
  std::array<Block, kMaxBlocksPerMcu> blocks{};
  std::uint32_t count = 0;
  unsigned ac_bits = 0;  ///< bits of a lookup in each `ac`
};

/// The most bytes that an MCU may take, damaged or not: 6 blocks of 27 + 63 * 26 bits.
inline constexpr std::size_t kMcuBytes = 1249;
/// Bytes that may be read after the last segment: those of an MCU, and some words.
inline constexpr std::size_t kSegmentPadding = 1536;

/// Entropy-coded bytes between two markers, without stuffing. kSegmentPadding bytes after `end`
/// must be readable; their values do not matter.
struct Segment {
  const std::uint8_t* begin = nullptr;
  const std::uint8_t* end = nullptr;
};

/// Decodes MCUs into blocks in scan order: 64 quantised coefficients each, row by row of the block.
/// `last` gets, for each block, the number of coefficients in zigzag order up to the last that is
/// not zero, at least 1.
struct SegmentTask {
  Segment segment;
  std::int16_t* blocks = nullptr;
  std::uint8_t* last = nullptr;
  std::uint32_t mcus = 0;  ///< in the segment
};

/// A segment that is decoded part by part, and may also arrive in parts.
struct OpenSegment {
  std::uint64_t bits = 0;  ///< next ones on top
  std::uint32_t valid = 0;
  const std::uint8_t* next = nullptr;
  const std::uint8_t* end = nullptr;               ///< where the bytes at hand end
  bool complete = true;                            ///< nothing follows `end`
  std::array<std::uint32_t, kMaxComponents> dc{};  ///< the last ones, modulo 2^32

  explicit OpenSegment(const Segment& segment = {}) : next(segment.begin), end(segment.end) {}
  /// Whether all bytes have been used, and none beyond.
  bool ends_well() const {
    const std::int64_t left = (end - next) * 8 + static_cast<std::int64_t>(valid);
    return complete && left >= 0 && left < 8;
  }
  /// How many MCUs, at least, can be decoded from what is there.
  std::uint32_t mcus() const {
    constexpr std::ptrdiff_t kWord = 8;
    if (complete) return ~std::uint32_t{0};
    return static_cast<std::uint32_t>((end - next - kWord) / std::ptrdiff_t{kMcuBytes});
  }
};

/// The entropy decoder as compiled for one of several instruction sets. Its functions return false
/// where a segment is damaged: bad code, value out of range, block too long, bits missing or left
/// over.
struct EntropyDecoder {
  /// Decodes whole segments, three at a time, a lookup of each in turn: the processor works on one
  /// while it waits for another. `plan.ac_bits` is kInterleavedBits or kShortBits of AcTable.
  bool (*decode)(std::span<const SegmentTask> tasks, const BlockPlan& plan);
  /// Decodes the next `task.mcus` MCUs of `open`, at most open.mcus(). Without `task.blocks`, only
  /// passes over them. `plan.ac_bits` is kSerialBits or kShortBits of AcTable. After false, `open`
  /// may lie beyond its end, and must not be decoded any further.
  bool (*decode_next)(OpenSegment& open, const SegmentTask& task, const BlockPlan& plan);
};

/// The fastest this processor can run.
EntropyDecoder entropy_decoder();

}  // namespace packhorse::jpeg
