// tests/interop/test_augment.py compares with torchvision's own pixels and distributions.
#include "packhorse/reader/pixel_augment.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "augment/color_steps.h"
#include "packhorse/reader/decode.h"
#include "packhorse/reader/loader.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

using Pixels = std::vector<std::uint8_t>;

Pixels made(int width, int height) { return make_picture(width, height).pixels; }

Pixels erased(const RandomErasing& erasing, const ErasePlan& plan, int width, Pixels pixels) {
  erase(erasing, plan, width, SampleRandom(1, 2, 3), pixels);
  return pixels;
}

const PixelAugment kAll{
    .jitter = {.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1},
    .erasing = {.probability = 1, .fill = RandomErasing::Fill::kNoise}};

}  // namespace

TEST_CASE("colour jitter: nothing is drawn and nothing changes at amounts of zero") {
  const ColorPlan plan = plan_colors({}, SampleRandom(1, 2, 3));
  CHECK(plan.brightness == 1);
  CHECK(plan.contrast == 1);
  CHECK(plan.saturation == 1);
  CHECK(plan.hue == 0);
  Pixels pixels = made(40, 30);
  adjust_colors(plan, pixels);
  CHECK(pixels == made(40, 30));
}

TEST_CASE("colour jitter: factors stay at zero or above") {
  for (std::uint64_t sample = 0; sample < 2000; ++sample) {
    const ColorPlan plan =
        plan_colors({.brightness = 3, .contrast = 3}, SampleRandom(1, 2, sample));
    REQUIRE(plan.brightness >= 0);
    REQUIRE(plan.contrast >= 0);
    REQUIRE(plan.brightness < 4);
  }
}

TEST_CASE("colour jitter: extremes are black, grey, and the other side of the hues") {
  Pixels pixels{200, 100, 0, 10, 20, 30};
  adjust_colors({.brightness = 0}, pixels);
  CHECK(pixels == Pixels{0, 0, 0, 0, 0, 0});
  pixels = {255, 0, 0, 0, 255, 0};
  adjust_colors({.saturation = 0}, pixels);
  CHECK(pixels == Pixels{76, 76, 76, 149, 149, 149});
  pixels = {255, 0, 0, 0, 255, 0};
  adjust_colors({.hue = 0.5}, pixels);
  CHECK(pixels == Pixels{0, 255, 255, 255, 0, 255});
  pixels = {255, 255, 255, 0, 0, 0};
  adjust_colors({.contrast = 0}, pixels);
  CHECK(pixels == Pixels{127, 127, 127, 127, 127, 127});  // 254 / 2: white's grey is truncated
}

TEST_CASE("colour jitter: vectors and plain C++ agree, one step or several in a pass") {
  using Kind = ColorStep::Kind;
  const ColorSteps& plain = plain_color_steps();
  const ColorSteps fast = fastest_color_steps();
  CAPTURE(fast.name);
  for (const int width : {1, 5, 16, 77}) {  // whole numbers of blocks, and others
    const Pixels original = made(width, 33);
    CHECK(fast.grey_sum(original) == plain.grey_sum(original));
    for (const double amount : {-0.5, -0.21, 0.0, 0.1, 0.37, 0.5}) {
      const auto a = static_cast<float>(amount);
      const std::vector<ColorStep> all = {{Kind::kSaturation, 1 + a, -a},
                                          {Kind::kHue, 6 * a},
                                          {Kind::kLevels, 1 + a, 20 * a},
                                          {Kind::kLevels, 1 - a, -9}};
      for (std::size_t first = 0; first < all.size(); ++first) {
        for (std::size_t count = 1; first + count <= all.size(); ++count) {
          Pixels pixels = original, expected = original;
          fast.apply(pixels, std::span(all).subspan(first, count));
          plain.apply(expected, std::span(all).subspan(first, count));
          CHECK(pixels == expected);
        }
      }
    }
  }
}

TEST_CASE("photometric distortion: as often as its probability says, in torchvision's two orders") {
  const PhotometricDistort distort{.probability = .5};
  int brightness = 0, contrast = 0, hue = 0, permuted = 0, late = 0;
  constexpr int kDraws = 4000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const DistortPlan plan = plan_distort(distort, SampleRandom(5, 1, i));
    const ColorPlan& colors = plan.colors;
    brightness += colors.brightness != 1 ? 1 : 0;
    contrast += colors.contrast != 1 ? 1 : 0;
    hue += colors.hue != 0 ? 1 : 0;
    permuted += plan.channels != std::array<std::uint8_t, 3>{0, 1, 2} ? 1 : 0;
    late += colors.order[3] == ColorPlan::Step::kContrast ? 1 : 0;
    CHECK(colors.order[0] == ColorPlan::Step::kBrightness);
    CHECK((colors.brightness >= .875 && colors.brightness <= 1.125));
    CHECK((colors.contrast >= .5 && colors.contrast <= 1.5));
    CHECK((colors.hue >= -.05 && colors.hue <= .05));
  }
  // Five standard deviations of a binomial: 158; of six permutations one changes nothing.
  for (const int count : {brightness, contrast, hue, late})
    CHECK(std::abs(count - kDraws / 2) < 158);
  CHECK(std::abs(permuted - kDraws * 5 / 12) < 158);
}

TEST_CASE("photometric distortion: channels change places after the colours") {
  std::vector<std::uint8_t> pixels = {10, 20, 30, 40, 50, 60};
  distort({.colors = {.brightness = 2}, .channels = {2, 0, 1}}, pixels);
  CHECK(pixels == std::vector<std::uint8_t>{60, 20, 40, 120, 80, 100});
  CHECK_FALSE(does_nothing({.distort = {.probability = .1}}));
}

TEST_CASE("random erasing: the box and nothing else gets the value") {
  const Pixels before = made(20, 10);
  const ErasePlan box{.x = 3, .y = 2, .w = 5, .h = 4};
  const Pixels after = erased({.value = {1, 2, 3}}, box, 20, before);
  for (int y = 0; y < 10; ++y) {
    for (int x = 0; x < 20; ++x) {
      const auto at = static_cast<std::size_t>(3 * (y * 20 + x));
      const bool inside = x >= 3 && x < 8 && y >= 2 && y < 6;
      for (std::size_t c = 0; c < 3; ++c) {
        REQUIRE(after[at + c] == (inside ? c + 1 : before[at + c]));
      }
    }
  }
}

TEST_CASE("random erasing: noise has the mean and deviation asked for, per channel") {
  const RandomErasing noise{
      .fill = RandomErasing::Fill::kNoise, .mean = {60, 128, 200}, .deviation = {5, 20, 10}};
  const Pixels pixels = erased(noise, {.w = 200, .h = 200}, 200, Pixels(200 * 200 * 3));
  for (std::size_t c = 0; c < 3; ++c) {
    double sum = 0, squares = 0;
    for (std::size_t i = c; i < pixels.size(); i += 3) {
      sum += pixels[i];
      squares += double{1} * pixels[i] * pixels[i];
    }
    const double n = 200 * 200, mean = sum / n;
    CHECK(std::abs(mean - noise.mean[c]) < 4 * noise.deviation[c] / 200);
    CHECK(std::abs(std::sqrt(squares / n - mean * mean) / noise.deviation[c] - 1) < 0.03);
  }
}

TEST_CASE("random erasing: as often as its probability says, within the picture") {
  int boxes = 0;
  for (std::uint64_t sample = 0; sample < 10000; ++sample) {
    SampleRandom random(1, 2, sample);
    const ErasePlan plan = plan_erasing({.probability = 0.25}, 61, 47, random);
    boxes += plan.w > 0 ? 1 : 0;
    REQUIRE(plan.x >= 0);
    REQUIRE(plan.y >= 0);
    REQUIRE(plan.x + plan.w <= 61);
    REQUIRE(plan.y + plan.h <= 47);
  }
  CHECK(std::abs(boxes - 2500) < 180);
}

TEST_CASE("random erasing: a sample of one pixel is left alone") {
  SampleRandom random(1, 2, 3);
  const ErasePlan plan = plan_erasing({.probability = 1}, 1, 1, random);
  CHECK(plan.w * plan.h == 0);
}

TEST_CASE("pixel augment: a function of seed, epoch and sample that leaves the crop as it is") {
  const File file = make_jpeg(make_picture(120, 90));
  const RandomResizedCrop crop{.size = 48};
  const auto decode = [&](const PixelAugment& augment, std::uint64_t sample) {
    Pixels out(48 * 48 * 3);
    Decoder({.pixels = augment}).decode(file, crop, SampleRandom(7, 1, sample), out);
    return out;
  };
  CHECK(decode(kAll, 1) == decode(kAll, 1));
  CHECK(decode(kAll, 1) != decode(kAll, 2));
  Pixels plain = decode({}, 1);
  CHECK(plain != decode(kAll, 1));
  apply(kAll, SampleRandom(7, 1, 1), 48, plain);
  CHECK(plain == decode(kAll, 1));
}

TEST_CASE("pixel augment: the loader's samples get it, whoever decodes them") {
  const auto dataset = make_dataset(6);
  const auto images = [&](const PixelAugment& augment, int workers) {
    Loader loader(dataset, {.batch_size = 6,
                            .workers = workers,
                            .augment = RandomResizedCrop{.size = 24},
                            .pixels = augment});
    loader.start_epoch(1);
    const std::optional<Batch> batch = loader.next();
    return Pixels(batch->images().begin(), batch->images().end());
  };
  CHECK(images(kAll, 3) == images(kAll, 0));
  CHECK(images(kAll, 0) != images({}, 0));
}

TEST_CASE("pixel augment: nonsense is refused") {
  const auto refused = [](const PixelAugment& augment) {
    return kind_of_error([&] { Decoder({.pixels = augment}); }) == ErrorKind::kUsage;
  };
  CHECK(refused({.jitter = {.brightness = -1}}));
  CHECK(kind_of_error([] { LoaderOptions{.pixels = {.jitter = {.hue = 1}}}.validate(); }) ==
        ErrorKind::kUsage);
  CHECK(refused({.jitter = {.contrast = std::numeric_limits<double>::infinity()}}));
  CHECK(refused({.jitter = {.saturation = std::nan("")}}));
  CHECK(refused({.jitter = {.hue = 0.6}}));
  CHECK(refused({.erasing = {.probability = 1.1}}));
  CHECK(refused({.erasing = {.min_scale = 0.5}}));
  CHECK(refused({.erasing = {.max_scale = 2}}));
  CHECK(refused({.erasing = {.min_ratio = 0}}));
  CHECK(refused({.erasing = {.deviation = {1, -1, 1}}}));
  validate(kAll);
}

}  // namespace packhorse::reader::test
