#pragma once

#include <array>
#include <cstdint>

#include "jpeg/decode/frame.h"
#include "jpeg/decode/huffman.h"
#include "jpeg/decode/strip.h"

/// The blocks of one scan of a progressive picture (T.81, annex G).
namespace packhorse::jpeg {

/// One symbol per lookup of the next kBits bits.
struct ScanCodes {
  static constexpr unsigned kBits = 9;
  /// Of an AC table: as kEndOfBlock, with how many blocks end here as the value.
  enum class Kind : std::uint8_t { kDc, kAc };
  /// bits 0..7    length of the code and of the bits behind it
  ///      8..15   run of zeros, or kEndOfBlock
  ///      16..31  the value
  /// Where they do not fit, the length is 0, and
  ///      8..15   the symbol
  ///      16..31  length of the code; 0: longer than a lookup
  std::array<std::uint32_t, 1 << kBits> lookup{};
  CodeList list;

  /// False where libjpeg would refuse the table.
  bool build(const HuffmanSpec& spec, Kind kind);

 private:
  HuffmanSpec spec_{};
  Kind kind_ = Kind::kDc;
};

/// What one SOS says.
struct Scan {
  std::uint32_t count = 0;
  std::array<std::uint32_t, kMaxComponents> component{}, dc{};
  std::uint32_t ac = 0;
  std::uint32_t first = 0, last = 0;  ///< of the coefficients, in zigzag order
  std::uint32_t high = 0, low = 0;    ///< the bits sent before, and those left after
};

/// Where a picture's blocks lie.
struct ProgressiveBlocks {
  McuRange stored;                 ///< whose coefficients are wanted
  std::int16_t* blocks = nullptr;  ///< those, in the order of an interleaved scan
  struct Plane {
    std::uint32_t wide = 0;   ///< blocks in a row, without those beyond the picture's edge
    std::uint32_t first = 0;  ///< its first block in an MCU
    /// Of each of its blocks, row after row, down to `stored.bottom`: the AC coefficients that are
    /// not zero, bit 63 - k for the k-th of the zigzag order.
    std::uint64_t* set = nullptr;
  };
  std::array<Plane, kMaxComponents> planes{};
};

/// A part of a scan: its units [from, to), which are MCUs, or the blocks of a lone component.
struct ScanPart {
  const Frame* frame = nullptr;
  const ProgressiveBlocks* to = nullptr;
  const Scan* scan = nullptr;
  std::array<const ScanCodes*, kMaxComponents> dc{};
  const ScanCodes* ac = nullptr;
  const std::uint8_t *begin = nullptr, *end = nullptr;  ///< the bytes, without stuffing
  std::uint32_t first = 0, stop = 0;
  bool whole = true;  ///< nothing may be left over
};

/// Bytes behind a part that may be read: those of a block, damaged or not, and some words.
inline constexpr std::size_t kScanPadding = 512;

/// Decodes a part; false where it is damaged.
using ScanDecoder = bool (*)(const ScanPart& part);
/// The fastest this processor can run.
ScanDecoder scan_decoder();

}  // namespace packhorse::jpeg
