#include <algorithm>

#include "decode/resize_kernels.h"

namespace packhorse::reader {

namespace {

template <bool kClamped>
std::uint8_t level(int sum) {
  sum >>= kWeightBits;
  return static_cast<std::uint8_t>(kClamped ? std::clamp(sum, 0, 255) : sum);
}

template <bool kClamped>
void row(const std::uint8_t* in, std::span<const Tap> taps, const std::int16_t* weights,
         std::uint8_t* out) {
  for (const Tap& tap : taps) {
    const std::uint8_t* pixel = in + std::ptrdiff_t{tap.first} * 3;
    int sum[3] = {kHalf, kHalf, kHalf};
    for (int i = 0; i < tap.count; ++i, pixel += 3) {
      const int weight = weights[tap.weights + static_cast<std::size_t>(i)];
      for (int c = 0; c < 3; ++c) sum[c] += weight * pixel[c];
    }
    for (int value : sum) *out++ = level<kClamped>(value);
  }
}

template <bool kClamped>
void rows(const std::uint8_t* in, std::size_t in_stride, int count, std::span<const Tap> taps,
          const std::int16_t* weights, std::uint8_t* out, std::size_t out_stride) {
  for (int y = 0; y < count; ++y, in += in_stride, out += out_stride)
    row<kClamped>(in, taps, weights, out);
}

template <bool kClamped>
void column(const std::uint8_t* in, std::size_t stride, const std::int16_t* weights, int count,
            std::uint8_t* out, std::size_t bytes) {
  for (std::size_t x = 0; x < bytes; ++x) {
    int sum = kHalf;
    for (int i = 0; i < count; ++i)
      sum += weights[i] * in[static_cast<std::size_t>(i) * stride + x];
    out[x] = level<kClamped>(sum);
  }
}

}  // namespace

const ResizeKernels& plain_kernels() {
  static constexpr ResizeKernels kKernels = {rows<false>, column<false>, rows<true>, column<true>};
  return kKernels;
}

}  // namespace packhorse::reader
