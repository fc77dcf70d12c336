#include <algorithm>
#include <cmath>

#include "augment/filters.h"

namespace packhorse::reader {

namespace {

void sharpen_row_plainly(const std::uint8_t* above, const std::uint8_t* row,
                         const std::uint8_t* below, float share, std::size_t count,
                         std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    int sum = 4 * row[i];
    for (const std::uint8_t* line : {above, row, below})
      sum += (line + i)[-kChannels] + line[i] + line[i + kChannels];
    const int mean = (sum + 6) / 13;  // rounded: no sum lies half way
    const float level = static_cast<float>(row[i]) + static_cast<float>(mean - row[i]) * share;
    out[i] = static_cast<std::uint8_t>(std::clamp(level, 0.0F, 255.0F));
  }
}

void blur_down_plainly(std::span<const std::uint8_t* const> rows, std::span<const float> weights,
                       std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) {
    float sum = weights[0] * static_cast<float>(rows[0][i]);
    for (std::size_t k = 1; k < weights.size(); ++k)
      sum += weights[k] * static_cast<float>(rows[2 * k - 1][i] + rows[2 * k][i]);
    out[i] = sum;
  }
}

void blur_across_plainly(const float* row, std::span<const float> weights, std::size_t count,
                         std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const float* const at = row + i;
    float sum = weights[0] * at[0];
    for (std::size_t k = 1; k < weights.size(); ++k) {
      const auto way = static_cast<std::ptrdiff_t>(k) * kChannels;
      sum += weights[k] * (at[-way] + at[way]);
    }
    out[i] = static_cast<std::uint8_t>(std::nearbyint(std::min(sum, 255.0F)));
  }
}

}  // namespace

const FilterKernels& plain_filter_kernels() {
  static constexpr FilterKernels kPlain = {"plain", sharpen_row_plainly, blur_down_plainly,
                                           blur_across_plainly};
  return kPlain;
}

}  // namespace packhorse::reader
