// tests/interop/test_augment.py compares with torchvision's own distributions and pixels.
#include "packhorse/reader/mix.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "pixel_format/pixel_kernels.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

using Pixels = std::vector<std::uint8_t>;
constexpr int kSize = 6;
constexpr ImageSize kImage = {kSize, kSize};
constexpr std::size_t kBytes = std::size_t{kSize} * kSize * 3;

/// Pictures in which all of picture i has the level 10 * i.
Pixels levels(std::size_t count) {
  Pixels batch;
  for (std::size_t i = 0; i < count; ++i) {
    batch.insert(batch.end(), kBytes, static_cast<std::uint8_t>(10 * i));
  }
  return batch;
}

MixPlan plan(const MixOptions& options, std::uint64_t step, std::int64_t batch = 8) {
  return plan_mix(options, batch, kImage, 1, 2, step);
}

}  // namespace

TEST_CASE("mix: seed, epoch and step alone decide") {
  const auto lambda = [](std::uint64_t seed, std::uint64_t epoch, std::uint64_t step) {
    return plan_mix({.mixup_alpha = 1}, 8, kImage, seed, epoch, step).lambda;
  };
  CHECK(lambda(1, 2, 3) == lambda(1, 2, 3));
  CHECK(lambda(1, 2, 3) != lambda(2, 2, 3));
  CHECK(lambda(1, 2, 3) != lambda(1, 3, 3));
  CHECK(lambda(1, 2, 3) != lambda(1, 2, 4));
}

TEST_CASE("mix: both kinds, and none, come as often as asked for") {
  int counts[3] = {};
  const MixOptions options{
      .mixup_alpha = 0.2, .cutmix_alpha = 1, .cutmix_share = 0.25, .probability = 0.8};
  for (std::uint64_t step = 0; step < 10000; ++step) {
    ++counts[static_cast<int>(plan(options, step).kind)];
  }
  CHECK(std::abs(counts[0] - 2000) < 160);
  CHECK(std::abs(counts[1] - 6000) < 200);
  CHECK(std::abs(counts[2] - 2000) < 160);
  CHECK(plan({}, 0).kind == MixPlan::Kind::kNone);
  CHECK(plan({.mixup_alpha = 1, .cutmix_share = 1}, 0).kind == MixPlan::Kind::kMixup);
  CHECK(plan({.cutmix_alpha = 1, .cutmix_share = 0}, 0).kind == MixPlan::Kind::kCutMix);
}

TEST_CASE("mix: partners are a permutation, and any of them") {
  int partner_of_first[8] = {};
  for (std::uint64_t step = 0; step < 8000; ++step) {
    MixPlan p = plan({.mixup_alpha = 1}, step);
    ++partner_of_first[p.partners.at(0)];
    std::sort(p.partners.begin(), p.partners.end());
    for (std::int64_t i = 0; i < 8; ++i) REQUIRE(p.partners[static_cast<std::size_t>(i)] == i);
  }
  for (int count : partner_of_first) CHECK(std::abs(count - 1000) < 140);
}

TEST_CASE("mix: each picture is blended with its partner as it was") {
  for (std::uint64_t step = 0; step < 50; ++step) {
    const MixPlan p = plan({.mixup_alpha = 1}, step, 11);
    Pixels batch = levels(11);
    mix(p, batch, kImage);
    for (std::size_t i = 0; i < 11; ++i) {
      const double expected = 10.0 * static_cast<double>(i) * p.lambda +
                              10.0 * static_cast<double>(p.partners[i]) * (1 - p.lambda);
      REQUIRE(std::abs(batch[i * kBytes] - expected) <= 0.5);
      REQUIRE(batch[i * kBytes] == batch[i * kBytes + kBytes - 1]);
    }
  }
}

TEST_CASE("mix: CutMix's lambda is the share that was left of the picture") {
  for (std::uint64_t step = 0; step < 50; ++step) {
    const MixPlan p = plan({.cutmix_alpha = 1}, step, 11);
    Pixels batch = levels(11);
    mix(p, batch, kImage);
    for (std::size_t i = 0; i < 11; ++i) {
      if (p.partners[i] == static_cast<std::int64_t>(i)) continue;
      const auto begin = batch.begin() + static_cast<std::ptrdiff_t>(i * kBytes);
      const auto own = std::count(begin, begin + kBytes, static_cast<std::uint8_t>(10 * i));
      REQUIRE(own == std::lround(p.lambda * kBytes));
    }
  }
}

TEST_CASE("mix: small and large alphas draw from both ends and from the middle") {
  double ends = 0, middle = 0;
  for (std::uint64_t step = 0; step < 2000; ++step) {
    ends += std::abs(plan({.mixup_alpha = 0.001}, step).lambda - 0.5);
    middle += std::abs(plan({.mixup_alpha = 1e6}, step).lambda - 0.5);
  }
  CHECK(ends / 2000 > 0.49);
  CHECK(middle / 2000 < 0.01);
  for (const double alpha : {std::numeric_limits<double>::denorm_min(), 1e-300, 1e300}) {
    for (std::uint64_t step = 0; step < 100; ++step) {
      const double lambda = plan({.mixup_alpha = alpha}, step).lambda;
      CHECK((lambda >= 0 && lambda <= 1));
    }
  }
}

/// Pictures of different numbers, in a format; `image` and `channels` are theirs.
Pixels random_pictures(std::size_t count, ImageSize image, std::size_t channels,
                       const PixelFormat& format) {
  const std::size_t numbers =
      count * static_cast<std::size_t>(image.height * image.width) * channels;
  Pixels batch(numbers * size_of(format.type));
  SampleRandom random(4, 5, 6);
  for (std::size_t i = 0; i < numbers; ++i) {
    const auto level = static_cast<int>(random.integer(256));
    if (format.type == PixelType::kUint8) {
      batch[i] = static_cast<std::uint8_t>(level);
    } else if (format.type == PixelType::kFloat32) {
      const auto value = static_cast<float>(level);
      std::memcpy(batch.data() + 4 * i, &value, 4);
    } else {
      const auto value = format.type == PixelType::kFloat16 ? half_of(static_cast<float>(level))
                                                            : static_cast<std::uint16_t>(level);
      std::memcpy(batch.data() + 2 * i, &value, 2);
    }
  }
  return batch;
}

/// Number `i` of a batch.
double number_at(const Pixels& batch, std::size_t i, PixelType type) {
  if (type == PixelType::kUint8) return batch[i];
  float value = 0;
  std::uint16_t bits = 0;
  if (type == PixelType::kFloat32) {
    std::memcpy(&value, batch.data() + 4 * i, 4);
    return value;
  }
  std::memcpy(&bits, batch.data() + 2 * i, 2);
  return type == PixelType::kFloat16 ? float_of(bits) : bits;
}

TEST_CASE("mix: rectangles of every type and layout are mixed number by number") {
  const ImageSize image = {5, 9};
  const std::size_t channels = 4, each = 5 * 9 * channels, count = 7;
  for (const auto type :
       {PixelType::kUint8, PixelType::kUint16, PixelType::kFloat16, PixelType::kFloat32}) {
    for (const auto layout : {PixelLayout::kInterleaved, PixelLayout::kPlanes}) {
      const PixelFormat format{.type = type, .layout = layout};
      const Pixels before = random_pictures(count, image, channels, format);
      for (std::uint64_t step = 0; step < 20; ++step) {
        const MixOptions options{.mixup_alpha = 1, .cutmix_alpha = 1};
        const MixPlan p = plan_mix(options, count, image, 1, 2, step);
        Pixels batch = before;
        mix(p, batch, image, channels, format);
        for (std::size_t i = 0; i < count * each; ++i) {
          const std::size_t place = i % each,
                            partner = static_cast<std::size_t>(p.partners[i / each]);
          const std::size_t pixel =
              layout == PixelLayout::kPlanes ? place % (5 * 9) : place / channels;
          const int x = static_cast<int>(pixel % 9) - p.x, y = static_cast<int>(pixel / 9) - p.y;
          const bool inside = x >= 0 && x < p.w && y >= 0 && y < p.h;
          const double share = p.kind == MixPlan::Kind::kMixup ? p.lambda : inside ? 0 : 1;
          const double wanted = number_at(before, i, type) * share +
                                number_at(before, partner * each + place, type) * (1 - share);
          REQUIRE(std::abs(number_at(batch, i, type) - wanted) <=
                  (type == PixelType::kFloat32   ? 1e-4
                   : type == PixelType::kFloat16 ? .0625
                                                 : .5));
        }
      }
    }
  }
}

TEST_CASE("mix: an infinite number of a partner is none where the partner has no share") {
  const PixelFormat format{.type = PixelType::kFloat32};
  const float pictures[] = {1, 2, 3, INFINITY, INFINITY, INFINITY};
  Pixels batch(sizeof(pictures));
  std::memcpy(batch.data(), pictures, sizeof(pictures));
  const Pixels before = batch;
  mix({.kind = MixPlan::Kind::kMixup, .lambda = 1, .partners = {1, 0}}, batch, {1, 1}, 3, format);
  CHECK(batch == before);
}

TEST_CASE("mix: soft targets are shares of both labels, and of all classes by smoothing") {
  const std::int64_t labels[] = {0, 2, 2};
  const MixPlan p{.kind = MixPlan::Kind::kMixup, .lambda = 0.75, .partners = {1, 2, 0}};
  CHECK(soft_targets(p, labels, 3) == std::vector<float>{.75F, 0, .25F, 0, 0, 1, .25F, 0, .75F});
  CHECK(soft_targets({}, labels, 3) == std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 1});
  const std::vector<float> smooth = soft_targets(p, labels, 4, .5);
  CHECK(smooth[0] == .125F + .375F);
  CHECK(smooth[1] == .125F);
  CHECK(smooth[2] == .125F + .125F);
  CHECK(kind_of_error([&] { soft_targets(p, labels, 2); }) == ErrorKind::kCorrupt);
  const std::int64_t none[] = {-1, 0, 0};
  CHECK(kind_of_error([&] { soft_targets(p, none, 2); }) == ErrorKind::kCorrupt);
}

TEST_CASE("mix: labels come as pairs") {
  const std::int64_t labels[] = {5, 6, 7};
  const MixPlan p{.kind = MixPlan::Kind::kMixup, .lambda = 0.5, .partners = {2, 0, 1}};
  CHECK(partner_labels(p, labels) == std::vector<std::int64_t>{7, 5, 6});
  CHECK(partner_labels({}, labels) == std::vector<std::int64_t>{5, 6, 7});
}

TEST_CASE("mix: batches of none and of one stay what they are") {
  for (std::int64_t count : {0, 1}) {
    for (const MixOptions& options :
         {MixOptions{.mixup_alpha = 1}, MixOptions{.cutmix_alpha = 1}}) {
      Pixels batch = levels(static_cast<std::size_t>(count));
      mix(plan(options, 3, count), batch, kImage);
      CHECK(batch == levels(static_cast<std::size_t>(count)));
    }
  }
}

TEST_CASE("mix: nonsense and other batches are refused") {
  const auto refused = [](const MixOptions& options) {
    return kind_of_error([&] { options.validate(); }) == ErrorKind::kUsage;
  };
  CHECK(refused({.mixup_alpha = -1}));
  CHECK(refused({.cutmix_alpha = std::nan("")}));
  CHECK(refused({.cutmix_share = 2}));
  CHECK(refused({.probability = -0.1}));
  Pixels batch = levels(7);
  CHECK(kind_of_error([&] { mix(plan({.mixup_alpha = 1}, 0), batch, kImage); }) ==
        ErrorKind::kUsage);
}

}  // namespace packhorse::reader::test
