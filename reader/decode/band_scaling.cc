#include "decode/band_scaling.h"

#include <algorithm>

namespace packhorse::reader {

namespace {

/// What has no weight is left out: it may be no number.
void add_weighted(const float* in, float weight, std::size_t count, float* sum) {
  if (weight == 0) return;
  for (std::size_t i = 0; i < count; ++i) sum[i] += weight * in[i];
}

}  // namespace

void scale_band_rows(const float* in, std::size_t in_stride, int count, std::span<const Tap> taps,
                     const float* weights, std::size_t bands, float* out, std::size_t out_stride) {
  for (int y = 0; y < count; ++y, in += in_stride, out += out_stride) {
    float* pixel = out;
    for (const Tap& tap : taps) {
      std::fill_n(pixel, bands, 0.f);
      const float* from = in + static_cast<std::size_t>(tap.first) * bands;
      for (int i = 0; i < tap.count; ++i, from += bands)
        add_weighted(from, weights[tap.weights + static_cast<std::size_t>(i)], bands, pixel);
      pixel += bands;
    }
  }
}

void scale_band_column(const float* in, std::size_t stride, const float* weights, int count,
                       float* out, std::size_t values) {
  std::fill_n(out, values, 0.f);
  for (int i = 0; i < count; ++i)
    add_weighted(in + static_cast<std::size_t>(i) * stride, weights[i], values, out);
}

}  // namespace packhorse::reader
