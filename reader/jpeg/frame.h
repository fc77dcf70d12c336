#pragma once

#include <array>
#include <cstdint>

#include "packhorse/bytes.h"
#include "packhorse/jpeg.h"
#include "zigzag.h"

namespace packhorse::jpeg {

/// A Huffman table as the file has it: how many codes of each length from 1 on, and their symbols.
struct HuffmanSpec {
  bool defined = false;
  std::array<std::uint8_t, 16> counts{};
  std::array<std::uint8_t, 256> symbols{};
  friend bool operator==(const HuffmanSpec&, const HuffmanSpec&) = default;
};

struct Component {
  std::uint32_t id = 0;
  std::uint32_t h = 1, v = 1;      ///< sampling factors: blocks in an MCU
  std::uint32_t quantisation = 0;  ///< of the tables
  std::uint32_t dc = 0, ac = 0;    ///< Huffman tables
};

inline constexpr std::uint32_t kMaxComponents = 3;
inline constexpr std::uint32_t kMaxBlocksPerMcu = 6;

/// Steps, row by row of the block; aligned for vectors.
struct alignas(64) Quantisation : std::array<std::int16_t, kBlock> {};

/// What stands in front of the scan.
struct Frame {
  std::uint32_t width = 0, height = 0;  ///< pixels
  std::uint32_t components = 0;         ///< 1 or 3
  std::array<Component, kMaxComponents> component{};
  std::array<Quantisation, 4> quantisation{};
  std::array<HuffmanSpec, 4> dc{}, ac{};
  std::uint32_t restart_interval = 0;  ///< MCUs; 0: no markers
  std::size_t scan = 0;                ///< offset of the first entropy-coded byte
  Bytes row_offsets;                   ///< of a RoiTable whose interval is this file's; or empty

  // Follow from the above.
  std::uint32_t h = 1, v = 1;                    ///< the largest sampling factors
  std::uint32_t mcus_per_row = 0, mcu_rows = 0;  ///<
  std::uint32_t blocks_per_mcu = 0;

  std::uint32_t mcu_width() const { return 8 * h; }
  std::uint32_t mcu_height() const { return 8 * v; }
  std::uint32_t mcus() const { return mcus_per_row * mcu_rows; }
  /// Of the components sampled less often, in samples.
  std::uint32_t chroma_width() const { return (width + h - 1) / h; }
  std::uint32_t chroma_height() const { return (height + v - 1) / v; }
};

/// Reads the segments from SOI to SOS. `frame` must be a new one. Takes only what libjpeg takes
/// without a warning.
Reason parse_frame(Bytes file, Frame& frame);

}  // namespace packhorse::jpeg
