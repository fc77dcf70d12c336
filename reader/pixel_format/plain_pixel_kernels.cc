#include <bit>

#include "pixel_format/pixel_kernels.h"

namespace packhorse::reader {

namespace {

template <class T>
T number(std::uint8_t x, const Normalization& by, std::size_t channel) {
  const float value = (static_cast<float>(x) / 255.0f - by.mean[channel]) / by.deviation[channel];
  if constexpr (sizeof(T) == sizeof(Half)) {
    return half_of(value);
  } else {
    return value;
  }
}

void byte_planes(const std::uint8_t* in, std::size_t count, const PixelKernels::Bytes& out) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < 3; ++c) out[c][i] = *in++;
  }
}

template <class T>
void planes(const std::uint8_t* in, std::size_t count, const Normalization& by,
            const std::array<T*, 3>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < 3; ++c) out[c][i] = number<T>(*in++, by, c);
  }
}

template <class T>
void interleaved(const std::uint8_t* in, std::size_t count, const Normalization& by, T* out) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < 3; ++c) *out++ = number<T>(*in++, by, c);
  }
}

}  // namespace

/// Fabian Giesen's float_to_half_fast3_rtne, https://gist.github.com/rygorous/2156668.
Half half_of(float value) {
  constexpr std::uint32_t kInfinity = 0x7f800000, kTooLarge = (127 + 16) << 23;
  constexpr std::uint32_t kSmallestNormal = (127 - 14) << 23;
  const auto all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = all & 0x80000000, bits = all ^ sign;
  std::uint32_t half;
  if (bits >= kTooLarge) {
    half = bits > kInfinity ? 0x7e00 : 0x7c00;
  } else if (bits < kSmallestNormal) {
    // An addition that leaves the bits of a subnormal number at the end of the sum, rounded.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) + 0.5f) -
           std::bit_cast<std::uint32_t>(0.5f);
  } else {
    const std::uint32_t odd = bits >> 13 & 1;
    half = (bits - ((127 - 15) << 23) + 0xfff + odd) >> 13;
  }
  return static_cast<Half>(half | sign >> 16);
}

const PixelKernels& plain_pixel_kernels() {
  static constexpr PixelKernels kKernels = {byte_planes, planes<float>, planes<Half>,
                                            interleaved<float>, interleaved<Half>};
  return kKernels;
}

}  // namespace packhorse::reader
