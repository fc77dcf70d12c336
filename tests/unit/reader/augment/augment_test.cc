#include "packhorse/reader/augment.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

CropPlan plan(const Augment& augment, int width, int height, std::uint64_t sample = 0) {
  return plan_crop(augment, width, height, SampleRandom(1, 2, sample));
}

/// Largest distance between the distribution of `values` and the uniform one over [low, high].
double distance_to_uniform(std::vector<double> values, double low, double high) {
  std::sort(values.begin(), values.end());
  double largest = 0;
  const auto n = static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = (values[i] - low) / (high - low);
    largest = std::max({largest, std::abs(expected - static_cast<double>(i) / n),
                        std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  return largest;
}

constexpr int kDraws = 20000;
const double kTolerance = 1.95 / std::sqrt(kDraws);  // Kolmogorov-Smirnov, one in a thousand

}  // namespace

TEST_CASE("random: numbers depend on seed, epoch and sample alone") {
  const auto first = [](std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample) {
    return SampleRandom(seed, epoch, sample).next();
  };
  CHECK(first(1, 2, 3) == first(1, 2, 3));
  CHECK(first(1, 2, 3) != first(2, 2, 3));
  CHECK(first(1, 2, 3) != first(1, 3, 3));
  CHECK(first(1, 2, 3) != first(1, 2, 4));
  CHECK(first(1, 2, 3) != first(3, 2, 1));
}

TEST_CASE("random: uniform within a stream and from stream to stream") {
  std::vector<double> within, across;
  SampleRandom random(1, 2, 3);
  for (int i = 0; i < kDraws; ++i) {
    within.push_back(random.uniform(-2, 5));
    across.push_back(SampleRandom(1, 2, static_cast<std::uint64_t>(i)).uniform(-2, 5));
  }
  CHECK(distance_to_uniform(within, -2, 5) < kTolerance);
  CHECK(distance_to_uniform(across, -2, 5) < kTolerance);
}

TEST_CASE("random: integers cover their range evenly") {
  for (std::int64_t n : {1, 2, 3, 7, 64, 100}) {
    std::vector<int> counts(static_cast<std::size_t>(n));
    SampleRandom random(4, 5, 6);
    for (int i = 0; i < kDraws; ++i) ++counts.at(static_cast<std::size_t>(random.integer(n)));
    const double expected = static_cast<double>(kDraws) / static_cast<double>(n);
    for (int count : counts) CHECK(std::abs(count - expected) < 4.5 * std::sqrt(expected));
  }
}

TEST_CASE("random: streams for other purposes are unrelated, and leave this one alone") {
  SampleRandom random(1, 2, 3);
  random.next();
  const SampleRandom before = random;
  SampleRandom colours = random.stream(1), boxes = random.stream(2);
  CHECK(colours.next() != boxes.next());
  CHECK(random.next() == SampleRandom(before).next());
  CHECK(SampleRandom(1, 2, 3).stream(1).next() == before.stream(1).next());
  CHECK(SampleRandom(1, 2, 4).stream(1).next() != before.stream(1).next());
}

TEST_CASE("random: normal numbers are") {
  std::vector<double> shares;
  SampleRandom random(1, 2, 3);
  for (int i = 0; i < kDraws; ++i) {
    shares.push_back(std::erfc(-random.normal() / std::sqrt(2.0)) / 2);
  }
  CHECK(distance_to_uniform(shares, 0, 1) < kTolerance);
}

TEST_CASE("random resized crop: the window lies in the picture and fills the output") {
  for (std::uint64_t sample = 0; sample < 5000; ++sample) {
    const int width = 1 + static_cast<int>(sample * 7 % 301),
              height = 1 + static_cast<int>(sample * 11 % 203);
    const CropPlan p = plan(RandomResizedCrop{}, width, height, sample);
    REQUIRE(p.w >= 1);
    REQUIRE(p.h >= 1);
    REQUIRE(p.x >= 0);
    REQUIRE(p.y >= 0);
    REQUIRE(p.x + p.w <= width);
    REQUIRE(p.y + p.h <= height);
    REQUIRE(p.scaled_w == 224);
    REQUIRE(p.scaled_h == 224);
    REQUIRE(p.left == 0);
    REQUIRE(p.top == 0);
  }
}

TEST_CASE("random resized crop: area, ratio, place and flip are distributed as defined") {
  // Windows take at most half of the area, so every first try fits and nothing skews the
  // distributions.
  const RandomResizedCrop crop{.max_scale = 0.5};
  const int side = 4000;
  std::vector<double> areas, ratios, x_places, y_places;
  int flips = 0;
  for (std::uint64_t sample = 0; sample < kDraws; ++sample) {
    const CropPlan p = plan(crop, side, side, sample);
    areas.push_back(static_cast<double>(p.w) * p.h / (static_cast<double>(side) * side));
    ratios.push_back(std::log(static_cast<double>(p.w) / p.h));
    x_places.push_back((p.x + 0.5) / (side - p.w + 1));
    y_places.push_back((p.y + 0.5) / (side - p.h + 1));
    flips += p.flip ? 1 : 0;
  }
  CHECK(distance_to_uniform(areas, 0.08, 0.5) < kTolerance);
  CHECK(distance_to_uniform(ratios, std::log(0.75), std::log(4.0 / 3)) < kTolerance);
  CHECK(distance_to_uniform(x_places, 0, 1) < kTolerance);
  CHECK(distance_to_uniform(y_places, 0, 1) < kTolerance);
  CHECK(std::abs(flips - kDraws / 2) < 4 * std::sqrt(kDraws / 4));
}

TEST_CASE("random resized crop: windows lie at every place they can, the last one included") {
  int at[2][2] = {};
  for (std::uint64_t sample = 0; sample < 4000; ++sample) {
    const RandomResizedCrop crop{
        .min_scale = 0.81, .max_scale = 0.81, .min_ratio = 1, .max_ratio = 1};
    const CropPlan p = plan(crop, 10, 10, sample);  // 9 x 9
    REQUIRE(p.w == 9);
    ++at[p.y][p.x];
  }
  for (const auto& row : at) {
    for (int count : row) CHECK(std::abs(count - 1000) < 130);
  }
}

TEST_CASE("random resized crop: windows that do not fit are drawn again, ten times at most") {
  // The reference draws other random numbers. It gives how often a 3 : 1 picture needs its
  // fallback, and how large the windows are.
  const int width = 600, height = 200;
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> scale(0.08, 1),
      log_ratio(std::log(0.75), std::log(4.0 / 3));
  int reference_fallbacks = 0;
  double reference_area = 0, area = 0;
  for (int i = 0; i < kDraws; ++i) {
    int tries = 0;
    for (; tries < 10; ++tries) {
      const double target = width * height * scale(generator),
                   ratio = std::exp(log_ratio(generator));
      const double w = std::nearbyint(std::sqrt(target * ratio)),
                   h = std::nearbyint(std::sqrt(target / ratio));
      if (w > width || h > height) continue;
      reference_area += w * h;
      break;
    }
    if (tries == 10) {
      ++reference_fallbacks;
      reference_area += 267 * 200;
    }
  }
  int fallbacks = 0;
  for (std::uint64_t sample = 0; sample < kDraws; ++sample) {
    const CropPlan p = plan(RandomResizedCrop{}, width, height, sample);
    fallbacks += p.w == 267 && p.h == 200 && p.x == 166 && p.y == 0 ? 1 : 0;
    area += static_cast<double>(p.w) * p.h;
  }
  CHECK(reference_fallbacks > 100);
  CHECK(std::abs(fallbacks - reference_fallbacks) < 4 * std::sqrt(2.0 * reference_fallbacks));
  CHECK(std::abs(area / reference_area - 1) < 0.02);
}

TEST_CASE("random resized crop: the fallback is the middle, within the ratios") {
  const RandomResizedCrop whole{.min_scale = 1, .max_scale = 1};
  const CropPlan wide = plan(whole, 1000, 100);
  CHECK(wide.w == 133);  // round(100 * 4 / 3)
  CHECK(wide.h == 100);
  CHECK(wide.x == 433);  // (1000 - 133) / 2
  CHECK(wide.y == 0);
  const CropPlan tall = plan(whole, 100, 1000);
  CHECK(tall.w == 100);
  CHECK(tall.h == 133);
  CHECK(tall.y == 433);
  const RandomResizedCrop square{
      .min_scale = 1, .max_scale = 1, .min_ratio = 1.2, .max_ratio = 1.3};
  const CropPlan narrow = plan(square, 100, 100);  // ratio 1 is below 1.2
  CHECK(narrow.w == 100);
  CHECK(narrow.h == 83);
}

TEST_CASE("random resized crop: never and always flipping are what they say") {
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    REQUIRE(!plan(RandomResizedCrop{.flip = 0}, 50, 50, sample).flip);
    REQUIRE(plan(RandomResizedCrop{.flip = 1}, 50, 50, sample).flip);
  }
}

TEST_CASE("resize and centre crop: torchvision's numbers") {
  struct Case {
    int width, height, scaled_w, scaled_h, left, top;
  };
  // left = int(round((scaled - 224) / 2.0)) with halves to even: 117 / 2 = 58.5 -> 58; 85 / 2
  // = 42.5 -> 42
  const Case cases[] = {{500, 375, 341, 256, 58, 16}, {375, 500, 256, 341, 16, 58},
                        {256, 256, 256, 256, 16, 16}, {100, 100, 256, 256, 16, 16},
                        {500, 413, 309, 256, 42, 16}, {1000, 100, 2560, 256, 1168, 16}};
  for (const Case& c : cases) {
    const CropPlan p = plan(ResizeCenterCrop{}, c.width, c.height);
    CHECK(p.w == c.width);
    CHECK(p.h == c.height);
    CHECK(p.scaled_w == c.scaled_w);
    CHECK(p.scaled_h == c.scaled_h);
    CHECK(p.left == c.left);
    CHECK(p.top == c.top);
    CHECK(!p.flip);
  }
}

TEST_CASE("resize and centre crop: a halfway place goes to the even number above, too") {
  // (227 - 224) / 2.0 = 1.5 -> 2
  CHECK(plan(ResizeCenterCrop{.resize = 227}, 300, 300).left == 2);
}

TEST_CASE("resize and centre crop: a picture smaller than the crop is padded") {
  const CropPlan p = plan(ResizeCenterCrop{.resize = 101, .size = 224}, 100, 300);
  CHECK(p.scaled_w == 101);
  CHECK(p.scaled_h == 303);
  CHECK(p.left == -61);  // (224 - 101) // 2
  CHECK(p.top == 40);    // round(79 / 2.0) = round(39.5), to even
}

TEST_CASE("resize: all of the picture becomes all of the output") {
  const CropPlan p = plan(Resize{.size = 96}, 500, 200);
  CHECK(p.w == 500);
  CHECK(p.h == 200);
  CHECK(p.scaled_w == 96);
  CHECK(p.scaled_h == 96);
  CHECK(p.left == 0);
  CHECK(p.top == 0);
}

TEST_CASE("centre crop: the middle at its own scale, or all with a border") {
  const CropPlan p = plan(CenterCrop{.size = 224}, 501, 100);
  CHECK(p.scaled_w == 501);
  CHECK(p.scaled_h == 100);
  CHECK(p.left == 138);  // round(277 / 2.0) = round(138.5), to even
  CHECK(p.top == -62);   // (224 - 100) // 2
}

TEST_CASE("pad crop: windows reach into the padding on both sides, evenly") {
  std::vector<int> lefts(9), tops(9);
  for (std::uint64_t sample = 0; sample < 9000; ++sample) {
    const CropPlan p = plan(PadCrop{}, 32, 32, sample);
    REQUIRE(p.scaled_w == 32);
    REQUIRE(p.scaled_h == 32);
    ++lefts.at(static_cast<std::size_t>(p.left + 4));
    ++tops.at(static_cast<std::size_t>(p.top + 4));
  }
  for (int count : lefts) CHECK(std::abs(count - 1000) < 140);
  for (int count : tops) CHECK(std::abs(count - 1000) < 140);
}

TEST_CASE("augment: nonsense is refused") {
  const auto refused = [](const Augment& augment) {
    return kind_of_error([&] { validate(augment); }) == ErrorKind::kUsage;
  };
  CHECK(refused(RandomResizedCrop{.size = 0}));
  CHECK(refused(RandomResizedCrop{.min_scale = 0}));
  CHECK(refused(RandomResizedCrop{.min_scale = 0.5, .max_scale = 0.4}));
  CHECK(refused(RandomResizedCrop{.max_scale = 1.5}));
  CHECK(refused(RandomResizedCrop{.min_ratio = -1}));
  CHECK(refused(RandomResizedCrop{.max_ratio = 0.1}));
  CHECK(refused(RandomResizedCrop{.flip = 2}));
  CHECK(refused(ResizeCenterCrop{.resize = 0}));
  CHECK(refused(ResizeCenterCrop{.size = 20000}));
  CHECK(refused(Resize{.size = 0}));
  CHECK(refused(CenterCrop{.size = 20000}));
  CHECK(refused(PadCrop{.padding = -1}));
  validate(RandomResizedCrop{});
  validate(ResizeCenterCrop{});
  validate(PadCrop{});
  CHECK(output_size(PadCrop{}).width == 32);
}

}  // namespace packhorse::reader::test
