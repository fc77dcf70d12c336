#pragma once

#include <array>
#include <cstdint>

#include "jpeg/decode/frame.h"

/// Lookup tables that turn the next bits of a scan into coefficients. A *symbol* is a code with the
/// bits after it that complete its value: a run of zeros and a value, or the end of the block.
namespace packhorse::jpeg {

/// Stands for the run of zeros where a block ends. Added to a position, it is recognised by its
/// bit.
inline constexpr std::uint32_t kEndOfBlock = 128;

/// Values of baseline pictures have no more bits than this. More are refused.
inline constexpr std::uint32_t kMaxDcBits = 11, kMaxAcBits = 10;

/// The codes of a table in order. Finds those that are too long for a lookup.
struct CodeList {
  std::array<std::uint32_t, 17> end{};   ///< by length: first 16 bits beyond its codes
  std::array<std::int32_t, 17> first{};  ///< by length: index of code 0, were there one
  std::array<std::uint8_t, 256> symbols{};

  /// False where libjpeg would refuse the table.
  bool build(const HuffmanSpec& spec);
};

/// How to read a code and the value after it; 0 where the code is longer than a lookup.
///     bits 0..7 length of both, 8..15 of the code, 16..23 of the value, 24..31 run of zeros
using CodeEntry = std::uint32_t;
/// No code, or one that baseline pictures do not have: a run that is longer than any block.
inline constexpr CodeEntry kInvalidCode = 0xff000001;

/// One DC difference per lookup.
struct DcTable {
  static constexpr unsigned kBits = 9;
  /// bits 0..7 length of code and value, 16..31 value. Where they do not fit, the length is 0, and
  ///      32..63  a CodeEntry
  std::array<std::uint64_t, 1 << kBits> differences;
  CodeList list;

  bool build(const HuffmanSpec& spec);
};

/// One or two AC symbols per lookup.
struct AcTable {
  /// Bits of a lookup: more where segments are interleaved, which hides the time that larger tables
  /// take; fewer where each lookup waits for the last; fewest where a scan is so short that
  /// decoding it takes less time than building a table.
  static constexpr unsigned kInterleavedBits = 11, kSerialBits = 10, kShortBits = 8;
  /// bits 0..7    length of both symbols
  ///      8..15   where the first value goes, from the current position
  ///      16..23  where the second value goes; with one symbol only, the same place again
  ///      24..31  where the next position is; kEndOfBlock is added if the block ends
  ///      32..47  the first value, 48..63 the second
  /// Where not even one symbol fits, the length is 0, and
  ///      32..63  a CodeEntry
  std::array<std::uint64_t, 1 << kInterleavedBits> pairs;
  CodeList list;

  bool build(const HuffmanSpec& spec, unsigned bits);
};

/// The tables of one picture, kept for the next: many have the same.
class Tables {
 public:
  /// Builds what is missing. `ac_bits`: bits of a lookup, unless the scan is short; `scan_bytes`:
  /// the most bytes that it may have. False where libjpeg would refuse a table.
  bool prepare(const Frame& frame, unsigned ac_bits, std::size_t scan_bytes);

  const DcTable& dc(std::uint32_t i) const { return dc_[i]; }
  const AcTable& ac(std::uint32_t i) const { return ac_[i]; }
  /// Bits of a lookup in any AC table: what was asked for, or AcTable::kShortBits.
  unsigned ac_bits() const { return bits_; }

 private:
  bool are_of(const Frame& frame, unsigned ac_bits) const;

  std::array<HuffmanSpec, 4> dc_specs_{}, ac_specs_{};  // of the tables that are built
  std::array<unsigned, 4> ac_bits_{};
  unsigned bits_ = 0;
  std::size_t short_scans_ = 0;  // decoded with these very tables of kShortBits
  std::array<DcTable, 4> dc_;
  std::array<AcTable, 4> ac_;
};

}  // namespace packhorse::jpeg
