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

void blend_halves(const Half* other, std::size_t count, float share, Half* own) {
  for (std::size_t i = 0; i < count; ++i)
    own[i] = half_of(float_of(own[i]) * share + float_of(other[i]) * (1 - share));
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

float float_of(Half half) {
  const std::uint32_t sign = (half & 0x8000U) << 16, bits = half & 0x7fffU;
  constexpr std::uint32_t kInfinity = 0x7c00;
  if (bits >= kInfinity) return std::bit_cast<float>(sign | 0x7f800000U | bits << 13);
  // The exponent is moved by a multiplication, which also makes subnormal numbers normal.
  const float scaled = std::bit_cast<float>(bits << 13) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

const PixelKernels& plain_pixel_kernels() {
  static constexpr PixelKernels kKernels = {byte_planes,        planes<float>,     planes<Half>,
                                            interleaved<float>, interleaved<Half>, blend_halves};
  return kKernels;
}

}  // namespace packhorse::reader
