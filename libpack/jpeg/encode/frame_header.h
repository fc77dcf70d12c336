#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "jpeg/kernels/quantisation.h"

/// What a baseline JPEG's frame header says.
namespace packhorse::encode {

inline constexpr std::size_t kMaxComponents = 4;
using jpeg::kBlock;
using jpeg::kZigzag;

using QuantTable = std::array<std::uint16_t, kBlock>;  ///< row by row

struct FrameComponent {
  std::uint8_t id = 1;
  std::uint8_t h = 1, v = 1;  ///< sampling factors
  std::uint8_t quant = 0;     ///< which of Frame::quant
};

struct Frame {
  std::uint32_t width = 0, height = 0;  ///< pixels
  std::size_t count = 0;                ///< components
  std::array<FrameComponent, kMaxComponents> components;
  std::array<QuantTable, kMaxComponents> quant{};
  std::uint32_t restart_interval = 0;  ///< MCUs; must divide those of a row

  std::uint32_t h_max() const { return largest(&FrameComponent::h); }
  std::uint32_t v_max() const { return largest(&FrameComponent::v); }

  /// Blocks of component `c` in an MCU. A scan of one component has MCUs of one block, whatever its
  /// sampling factors (T.81 A.2.2).
  std::uint32_t mcu_h(std::size_t c) const { return count == 1 ? 1 : components[c].h; }
  std::uint32_t mcu_v(std::size_t c) const { return count == 1 ? 1 : components[c].v; }
  std::uint32_t blocks_per_mcu() const {
    std::uint32_t blocks = 0;
    for (std::size_t c = 0; c < count; ++c) blocks += mcu_h(c) * mcu_v(c);
    return blocks;
  }
  std::uint32_t mcus_per_row() const { return divide_up(width, 8 * (count == 1 ? 1 : h_max())); }
  std::uint32_t mcu_rows() const { return divide_up(height, 8 * (count == 1 ? 1 : v_max())); }

  /// Samples and blocks of component `c` (T.81 A.1.1, A.2.4); MCUs at the edges may hold more.
  std::uint32_t samples_wide(std::size_t c) const {
    return divide_up(width * components[c].h, h_max());
  }
  std::uint32_t samples_high(std::size_t c) const {
    return divide_up(height * components[c].v, v_max());
  }
  std::uint32_t blocks_wide(std::size_t c) const { return divide_up(samples_wide(c), 8); }
  std::uint32_t blocks_high(std::size_t c) const { return divide_up(samples_high(c), 8); }

  static std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

 private:
  std::uint32_t largest(std::uint8_t FrameComponent::*factor) const {
    std::uint32_t most = 1;
    for (std::size_t c = 0; c < count; ++c) {
      most = std::max<std::uint32_t>(most, components[c].*factor);
    }
    return most;
  }
};

/// MCUs between two restart markers: the smallest divisor of `mcus_per_row` that is not below
/// `target`, so that each row begins with a segment of its own. For a prime number of MCUs that may
/// be the whole row: the alternative, a marker for each MCU, costs 7 % of the bytes.
std::uint32_t restart_interval_from(std::uint32_t target, std::uint32_t mcus_per_row);

}  // namespace packhorse::encode
