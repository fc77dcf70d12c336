#include "augment/color_steps.h"

#include <algorithm>
#include <array>
#include <cstddef>

// Plain loops, which the compiler vectorises once for any processor and once for those with AVX2.
// (Built with -fno-trapping-math: nobody looks at floating-point exceptions, and without the flag
// choices stay jumps.)
#define INLINE [[gnu::always_inline]] inline

namespace packhorse::reader {

namespace {

constexpr std::size_t kBlock = 256;  // pixels: the planes of a block stay in the nearest cache

/// A few pixels, channel by channel, so that loops over them become vector instructions.
struct Planes {
  float r[kBlock], g[kBlock], b[kBlock];
};

INLINE void load(const std::uint8_t* pixel, std::size_t count, Planes& planes) {
  for (std::size_t i = 0; i < count; ++i) {
    planes.r[i] = pixel[3 * i];
    planes.g[i] = pixel[3 * i + 1];
    planes.b[i] = pixel[3 * i + 2];
  }
}

/// Calls work(planes, count) for each block of pixels and writes the planes back, truncated.
template <class Work>
INLINE void for_blocks(std::span<std::uint8_t> pixels, const Work& work) {
  Planes planes;
  const std::size_t total = pixels.size() / 3;
  for (std::size_t begin = 0; begin < total; begin += kBlock) {
    const std::size_t count = std::min(kBlock, total - begin);
    std::uint8_t* const pixel = pixels.data() + 3 * begin;
    load(pixel, count, planes);
    work(planes, count);
    for (std::size_t i = 0; i < count; ++i) {
      pixel[3 * i] = static_cast<std::uint8_t>(static_cast<int>(planes.r[i]));
      pixel[3 * i + 1] = static_cast<std::uint8_t>(static_cast<int>(planes.g[i]));
      pixel[3 * i + 2] = static_cast<std::uint8_t>(static_cast<int>(planes.b[i]));
    }
  }
}

/// rgb_to_grayscale, truncated.
INLINE float grey_of(float r, float g, float b) {
  return static_cast<float>(static_cast<int>(r * 0.2989F + g * 0.587F + b * 0.114F));
}

INLINE float clamped(float value) { return std::min(std::max(value, 0.0F), 255.0F); }

INLINE std::uint64_t grey_sum(std::span<const std::uint8_t> pixels) {
  Planes planes;
  std::uint64_t sum = 0;
  const std::size_t total = pixels.size() / 3;
  for (std::size_t begin = 0; begin < total; begin += kBlock) {
    const std::size_t count = std::min(kBlock, total - begin);
    load(pixels.data() + 3 * begin, count, planes);
    int block = 0;
    for (std::size_t i = 0; i < count; ++i) {
      block += static_cast<int>(grey_of(planes.r[i], planes.g[i], planes.b[i]));
    }
    sum += static_cast<std::uint64_t>(block);
  }
  return sum;
}

INLINE void saturation(std::span<std::uint8_t> pixels, double amount) {
  const auto factor = static_cast<float>(amount), rest = static_cast<float>(1 - amount);
  for_blocks(pixels, [=](Planes& p, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const float grey = rest * grey_of(p.r[i], p.g[i], p.b[i]);
      p.r[i] = clamped(p.r[i] * factor + grey);
      p.g[i] = clamped(p.g[i] * factor + grey);
      p.b[i] = clamped(p.b[i] * factor + grey);
    }
  });
}

/// One channel of the colour at hue `sixths` (of the circle): HSV to RGB without cases. `n` is 5
/// for red, 3 for green, 1 for blue.
INLINE float channel_of(float n, float sixths, float highest, float range) {
  float k = n + sixths;
  k = k >= 6 ? k - 6 : k;
  const float share = std::min(std::min(k, 4 - k), 1.0F);
  // Float to uint8 as convert_image_dtype() does it.
  return (highest - range * std::max(share, 0.0F)) * (255.999F / 255);
}

INLINE void hue(std::span<std::uint8_t> pixels, double turn) {
  const auto added = static_cast<float>(6 * turn);
  for_blocks(pixels, [=](Planes& p, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const float r = p.r[i], g = p.g[i], b = p.b[i];
      const float highest = std::max(r, std::max(g, b));
      const float range = highest - std::min(r, std::min(g, b));
      const float divisor = range > 0 ? range : 1;
      const float from_green = 2 + (b - r) / divisor, from_blue = 4 + (r - g) / divisor;
      float sixths = highest == g ? from_green : from_blue;
      sixths = (highest == r ? (g - b) / divisor : sixths) + added;
      sixths = sixths < 0 ? sixths + 6 : sixths;
      sixths = sixths >= 6 ? sixths - 6 : sixths;
      p.r[i] = channel_of(5, sixths, highest, range);
      p.g[i] = channel_of(3, sixths, highest, range);
      p.b[i] = channel_of(1, sixths, highest, range);
    }
  });
}

#if defined(__x86_64__)
#define AVX2 [[gnu::target("avx2")]]
AVX2 std::uint64_t avx2_grey_sum(std::span<const std::uint8_t> pixels) { return grey_sum(pixels); }
AVX2 void avx2_saturation(std::span<std::uint8_t> pixels, double factor) {
  saturation(pixels, factor);
}
AVX2 void avx2_hue(std::span<std::uint8_t> pixels, double turn) { hue(pixels, turn); }
#endif

}  // namespace

std::span<const ColorSteps> color_steps() {
  static constexpr ColorSteps kPortable = {"portable", grey_sum, saturation, hue};
#if defined(__x86_64__)
  static constexpr std::array kAll = {kPortable,
                                      ColorSteps{"avx2", avx2_grey_sum, avx2_saturation, avx2_hue}};
  static const std::size_t kUsable = __builtin_cpu_supports("avx2") != 0 ? 2 : 1;
#else
  static constexpr std::array kAll = {kPortable};
  static const std::size_t kUsable = 1;
#endif
  return std::span(kAll).first(kUsable);
}

}  // namespace packhorse::reader
