#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "packhorse/reader/pixel_augment.h"

// torchvision.transforms.v2.functional's adjust_brightness, adjust_contrast, adjust_saturation and
// adjust_hue for uint8 tensors: float32 in between, cut off (not rounded) at the end of each step.
namespace packhorse::reader {

namespace {

constexpr std::size_t kBlock = 256;  // pixels: the planes of one stay in the nearest cache

/// A few pixels, channel by channel, so that loops over them become vector instructions.
struct Planes {
  float r[kBlock], g[kBlock], b[kBlock];
};

/// Calls work(planes, count) for each block of pixels and keeps what it leaves in them, cut off.
template <class Work>
void for_blocks(std::span<std::uint8_t> pixels, const Work& work) {
  Planes planes;
  const std::size_t total = pixels.size() / 3;
  for (std::size_t begin = 0; begin < total; begin += kBlock) {
    const std::size_t count = std::min(kBlock, total - begin);
    std::uint8_t* const pixel = pixels.data() + 3 * begin;
    for (std::size_t i = 0; i < count; ++i) {
      planes.r[i] = pixel[3 * i];
      planes.g[i] = pixel[3 * i + 1];
      planes.b[i] = pixel[3 * i + 2];
    }
    work(planes, count);
    for (std::size_t i = 0; i < count; ++i) {
      pixel[3 * i] = static_cast<std::uint8_t>(static_cast<int>(planes.r[i]));
      pixel[3 * i + 1] = static_cast<std::uint8_t>(static_cast<int>(planes.g[i]));
      pixel[3 * i + 2] = static_cast<std::uint8_t>(static_cast<int>(planes.b[i]));
    }
  }
}

/// rgb_to_grayscale, cut off.
float grey_of(float r, float g, float b) {
  return static_cast<float>(static_cast<int>(r * 0.2989F + g * 0.587F + b * 0.114F));
}

float clamped(float value) { return std::min(std::max(value, 0.0F), 255.0F); }

/// Every channel by itself: level * factor + offset.
void scale_levels(std::span<std::uint8_t> pixels, float factor, float offset) {
  std::array<std::uint8_t, 256> levels;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    levels[i] = static_cast<std::uint8_t>(clamped(static_cast<float>(i) * factor + offset));
  }
  for (std::uint8_t& value : pixels) value = levels[value];
}

double mean_grey(std::span<const std::uint8_t> pixels) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 2 < pixels.size(); i += 3) {
    sum += static_cast<std::uint64_t>(grey_of(pixels[i], pixels[i + 1], pixels[i + 2]));
  }
  return static_cast<double>(sum) / static_cast<double>(pixels.size() / 3);
}

void adjust_saturation(std::span<std::uint8_t> pixels, double saturation) {
  const auto factor = static_cast<float>(saturation), rest = static_cast<float>(1 - saturation);
  for_blocks(pixels, [=](Planes& p, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const float grey = rest * grey_of(p.r[i], p.g[i], p.b[i]);
      p.r[i] = clamped(p.r[i] * factor + grey);
      p.g[i] = clamped(p.g[i] * factor + grey);
      p.b[i] = clamped(p.b[i] * factor + grey);
    }
  });
}

/// A channel of the colour of hue `sixths` (of the circle): HSV to RGB without cases. `n` is 5 for
/// red, 3 for green, 1 for blue.
float channel_of(float n, float sixths, float highest, float range) {
  float k = n + sixths;
  k = k >= 6 ? k - 6 : k;
  const float share = std::min(std::min(k, 4 - k), 1.0F);
  // Float to uint8 as convert_image_dtype() does it.
  return (highest - range * std::max(share, 0.0F)) * (255.999F / 255);
}

void adjust_hue(std::span<std::uint8_t> pixels, float turn) {
  for_blocks(pixels, [turn](Planes& p, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const float r = p.r[i], g = p.g[i], b = p.b[i];
      const float highest = std::max(r, std::max(g, b));
      const float range = highest - std::min(r, std::min(g, b));
      const float divisor = range > 0 ? range : 1;
      const float from_green = 2 + (b - r) / divisor, from_blue = 4 + (r - g) / divisor;
      float sixths = highest == g ? from_green : from_blue;
      sixths = (highest == r ? (g - b) / divisor : sixths) + 6 * turn;
      sixths = sixths < 0 ? sixths + 6 : sixths;
      sixths = sixths >= 6 ? sixths - 6 : sixths;
      p.r[i] = channel_of(5, sixths, highest, range);
      p.g[i] = channel_of(3, sixths, highest, range);
      p.b[i] = channel_of(1, sixths, highest, range);
    }
  });
}

double draw_factor(double amount, SampleRandom& random) {
  return amount > 0 ? random.uniform(std::max(0.0, 1 - amount), 1 + amount) : 1;
}

}  // namespace

ColorPlan plan_colors(const ColorJitter& jitter, SampleRandom random) {
  ColorPlan plan;
  for (std::size_t i = plan.order.size(); i > 1; --i) {
    const auto other = static_cast<std::size_t>(random.integer(static_cast<std::int64_t>(i)));
    std::swap(plan.order[i - 1], plan.order[other]);
  }
  plan.brightness = draw_factor(jitter.brightness, random);
  plan.contrast = draw_factor(jitter.contrast, random);
  plan.saturation = draw_factor(jitter.saturation, random);
  plan.hue = jitter.hue > 0 ? random.uniform(-jitter.hue, jitter.hue) : 0;
  return plan;
}

void adjust_colors(const ColorPlan& plan, std::span<std::uint8_t> pixels) {
  using Step = ColorPlan::Step;
  for (const Step step : plan.order) {
    if (step == Step::kBrightness && plan.brightness != 1) {
      scale_levels(pixels, static_cast<float>(plan.brightness), 0);
    } else if (step == Step::kContrast && plan.contrast != 1) {
      const double offset = (1 - plan.contrast) * mean_grey(pixels);
      scale_levels(pixels, static_cast<float>(plan.contrast), static_cast<float>(offset));
    } else if (step == Step::kSaturation && plan.saturation != 1) {
      adjust_saturation(pixels, plan.saturation);
    } else if (step == Step::kHue && plan.hue != 0) {
      adjust_hue(pixels, static_cast<float>(plan.hue));
    }
  }
}

}  // namespace packhorse::reader
