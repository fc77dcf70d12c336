#include <algorithm>

#include "pixels/warp_kernels.h"

namespace packhorse::reader {

namespace {

/// In 1 / (1 << kShareBits).
int share_of(std::int32_t position) {
  constexpr int kRest = kFixedBits - kShareBits;
  return ((position & ((1 << kFixedBits) - 1)) + (1 << (kRest - 1))) >> kRest;
}

}  // namespace

void sample_line_plainly(const WarpLine& line, int count, std::uint8_t* out) {
  constexpr int kAll = 1 << kShareBits, kShift = 2 * kShareBits - kLostBits;
  std::int32_t x = line.x, y = line.y;
  for (int i = 0; i < count; ++i, x += line.step_x, y += line.step_y) {
    const std::uint8_t* upper = line.pixels +
                                static_cast<std::size_t>(y >> kFixedBits) * line.stride +
                                static_cast<std::size_t>(x >> kFixedBits) * 3;
    const std::uint8_t* lower = upper + line.stride;
    const int right = share_of(x), down = share_of(y);
    for (int c = 0; c < 3; ++c) {
      const int above = (upper[c] * (kAll - right) + upper[c + 3] * right) >> kLostBits;
      const int below = (lower[c] * (kAll - right) + lower[c + 3] * right) >> kLostBits;
      *out++ = static_cast<std::uint8_t>(
          (above * (kAll - down) + below * down + (1 << (kShift - 1))) >> kShift);
    }
  }
}

void sample_cubic_plainly(const CubicLine& line, std::int64_t count, std::uint8_t* out) {
  constexpr int kShift = 2 * kCubicBits - kCubicLostBits;
  std::int64_t x = line.x, y = line.y;
  for (std::int64_t i = 0; i < count; ++i, x += line.step_x, y += line.step_y) {
    const CubicWeights &across = line.weights_at(x), &down = line.weights_at(y);
    for (int c = 0; c < 3; ++c) {
      const std::uint8_t* row = line.pixels_at(x, y) + c;
      int sum = 1 << (kShift - 1);
      for (std::size_t k = 0; k < 4; ++k, row += line.stride) {
        const int beside =
            row[0] * across[0] + row[3] * across[1] + row[6] * across[2] + row[9] * across[3];
        sum += (beside >> kCubicLostBits) * down[k];
      }
      *out++ = static_cast<std::uint8_t>(std::clamp(sum >> kShift, 0, 255));
    }
  }
}

}  // namespace packhorse::reader
