#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>

#include "augment/steps/step.h"

namespace packhorse::reader::steps {

/// torchvision.transforms.RandomErasing: erases one box of the sample.
struct RandomErasing {
  static constexpr std::string_view kName = "RandomErasing";
  static constexpr std::string_view kSummary =
      "torchvision's: erases a box of this share of the picture, height / width within ratio; "
      "value: a colour, or None for noise";

  using Color = std::array<double, 3>;

  double p = 0.5;
  Range scale = {0.02, 0.33}, ratio = {0.3, 3.3};
  std::optional<Color> value = Color{0, 0, 0};
  /// Of the noise, in levels; each channel of each pixel is drawn by itself, rounded and clamped.
  /// The defaults are ImageNet's: what value="random" means after torchvision's usual Normalize.
  Color mean = {123.675, 116.28, 103.53}, std = {58.395, 57.12, 57.375};

  template <class Self, class Visit>
  static void parameters(Self& self, const Visit& visit) {
    visit("p", self.p);
    visit("scale", self.scale);
    visit("ratio", self.ratio);
    visit("value", self.value);
    visit("mean", self.mean);
    visit("std", self.std);
  }

  void check() const {
    require(is_probability(p), kName, "the probability must be within 0 and 1");
    require(is_within(scale, 0, 1), kName, "the scale must be within 0 <= min <= max <= 1");
    require(ratio[0] > 0 && is_within(ratio, 0, ratio[1]), kName,
            "the ratio must be within 0 < min <= max");
    for (std::size_t c = 0; c < 3; ++c) {
      require(std::isfinite(mean[c]) && is_amount(std[c]), kName,
              "the noise's mean must be a number, its std 0 or more");
      require(!value || ((*value)[c] >= 0 && (*value)[c] <= 255 &&
                         (*value)[c] == std::floor((*value)[c])),
              kName, "value: levels are whole numbers of 0 to 255");
    }
  }

  /// Empty where nothing is erased.
  struct Box {
    int x = 0, y = 0, w = 0, h = 0;
  };

  /// RandomErasing.get_params with its ten tries.
  Box plan(int width, int height, SampleRandom random) const {
    if (random.uniform(0, 1) >= p) return {};
    const double area = static_cast<double>(width) * height;
    const double low = std::log(ratio[0]), high = std::log(ratio[1]);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double target = area * random.uniform(scale[0], scale[1]);
      const double shape = std::exp(random.uniform(low, high));
      const double h = std::nearbyint(std::sqrt(target * shape));
      const double w = std::nearbyint(std::sqrt(target / shape));
      if (h >= height || w >= width) continue;
      Box box{.w = static_cast<int>(w), .h = static_cast<int>(h)};
      box.y = static_cast<int>(random.integer(height - box.h + 1));
      box.x = static_cast<int>(random.integer(width - box.w + 1));
      return box;
    }
    return {};
  }

  void erase(const Box& box, const Picture& picture, SampleRandom random) const {
    std::array<std::uint8_t, 3> color = {};
    if (value) std::transform(value->begin(), value->end(), color.begin(), level);
    for (int y = box.y; y < box.y + box.h; ++y) {
      std::uint8_t* pixel = picture.pixels.data() + (std::ptrdiff_t{y} * picture.width + box.x) * 3;
      for (int x = 0; x < box.w; ++x, pixel += 3) {
        if (value) {
          std::copy_n(color.data(), 3, pixel);
        } else {
          put_noise(random.next(), pixel);
        }
      }
    }
  }

  std::string explain(ImageSize size, SampleRandom random) const {
    const Box box = plan(size.width, size.height, random);
    return box.w > 0 ? fmt::format("Erase({}, {}, {}, {})", box.x, box.y, box.w, box.h) : "";
  }

  void apply(const Picture& picture, SampleRandom random) const {
    erase(plan(picture.width, picture.height(), random), picture, random.stream(1));
  }

 private:
  static constexpr int kQuantileBits = 12;
  using Quantiles = std::array<float, 1 << kQuantileBits>;

  static std::uint8_t level(double value) {
    return static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0) + 0.5);
  }

  /// The medians of 2^kQuantileBits equally likely parts of the normal distribution.
  static Quantiles make_quantiles() {
    Quantiles quantiles;
    for (std::size_t i = 0; i < quantiles.size(); ++i) {
      const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(quantiles.size());
      double low = -8, high = 8;
      for (int halving = 0; halving < 40; ++halving) {
        const double middle = (low + high) / 2;
        (std::erfc(-middle / std::numbers::sqrt2) / 2 < share ? low : high) = middle;
      }
      quantiles[i] = static_cast<float>(low);
    }
    return quantiles;
  }

  void put_noise(std::uint64_t bits, std::uint8_t* pixel) const {
    static const Quantiles kQuantiles = make_quantiles();
    for (std::size_t c = 0; c < 3; ++c, bits >>= kQuantileBits)
      pixel[c] = level(mean[c] + std[c] * kQuantiles[bits & (kQuantiles.size() - 1)]);
  }
};

}  // namespace packhorse::reader::steps
