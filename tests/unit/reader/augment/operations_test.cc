// tests/interop/test_pixel_steps.py compares with torchvision's own pixels.
#include "augment/operations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "augment/filters.h"
#include "augment/steps/aug_mix.h"
#include "augment/steps/rand_augment.h"
#include "augment/steps/random_affine.h"
#include "augment/steps/timm_rand_augment.h"
#include "packhorse/reader/pixel_steps.h"
#include "support/instruction_sets.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

using packhorse::test::for_each_instruction_set;

namespace {

using Kind = Operation::Kind;
using Levels = std::vector<std::uint8_t>;

constexpr Colour kBlue = {1, 2, 250};

Levels after(const Operation& operation, Levels pixels, int width) {
  PixelBuffer scratch;
  perform({operation}, {pixels, width, scratch});
  return pixels;
}

/// A picture whose three channels are the same.
Levels grey(const Levels& levels) {
  Levels pixels;
  for (const std::uint8_t level : levels) pixels.insert(pixels.end(), 3, level);
  return pixels;
}

Levels first_channel(const Levels& pixels) {
  Levels levels;
  for (std::size_t i = 0; i < pixels.size(); i += 3) levels.push_back(pixels[i]);
  return levels;
}

Levels grey_after(const Operation& operation, const Levels& levels, int width) {
  return first_channel(after(operation, grey(levels), width));
}

}  // namespace

TEST_CASE("operations: levels") {
  const Levels levels = {0, 1, 127, 128, 200, 255};
  CHECK(grey_after({Kind::kInvert}, levels, 6) == Levels{255, 254, 128, 127, 55, 0});
  CHECK(grey_after({Kind::kSolarize, {128}}, levels, 6) == Levels{0, 1, 127, 127, 55, 0});
  CHECK(grey_after({Kind::kSolarize, {127.5}}, levels, 6) == Levels{0, 1, 127, 127, 55, 0});
  CHECK(grey_after({Kind::kSolarize, {256}}, levels, 6) == levels);
  CHECK(grey_after({Kind::kSolarizeAdd, {110}}, levels, 6) == Levels{110, 111, 237, 128, 200, 255});
  CHECK(grey_after({Kind::kPosterize, {1}}, levels, 6) == Levels{0, 0, 0, 128, 128, 128});
  CHECK(grey_after({Kind::kPosterize, {8}}, levels, 6) == levels);
  CHECK(grey_after({Kind::kPosterize, {0}}, levels, 6) == Levels(6));
  CHECK(grey_after({Kind::kAutocontrast}, {50, 60, 70}, 3) == Levels{0, 127, 254});  // in floats
  CHECK(grey_after({Kind::kAutocontrast}, {50, 50}, 2) == Levels{50, 50});
  CHECK(grey_after({Kind::kEqualize}, Levels(600, 9), 20) == Levels(600, 9));
}

TEST_CASE("operations: an equalized picture has its levels about equally often") {
  Levels levels(256 * 256);
  for (std::size_t i = 0; i < levels.size(); ++i)
    levels[i] = static_cast<std::uint8_t>(i % 256 / 8 + 100);  // 32 levels
  const Levels made = grey_after({Kind::kEqualize}, levels, 256);
  CHECK(std::ranges::min(made) == 0);
  CHECK(std::ranges::max(made) == 255);
  for (std::size_t i = 8; i < 256; ++i) CHECK(made[i] - made[i - 8] <= 9);
}

TEST_CASE("operations: where pixels go") {
  const Levels picture = {1, 2, 3,  //
                          4, 5, 6,  //
                          7, 8, 9};
  const auto moved = [&](Kind kind, double value) {
    return grey_after({kind, {value}, WarpInterpolation::kNearest, {}}, picture, 3);
  };
  CHECK(moved(Kind::kHorizontalFlip, 0) == Levels{3, 2, 1, 6, 5, 4, 9, 8, 7});
  CHECK(moved(Kind::kVerticalFlip, 0) == Levels{7, 8, 9, 4, 5, 6, 1, 2, 3});
  CHECK(moved(Kind::kTranslateX, 1) == Levels{0, 1, 2, 0, 4, 5, 0, 7, 8});
  CHECK(moved(Kind::kTranslateY, -1) == Levels{4, 5, 6, 7, 8, 9, 0, 0, 0});
  CHECK(moved(Kind::kTranslateY, 3) == Levels(9));
  CHECK(moved(Kind::kRotate, 90) == Levels{3, 6, 9, 2, 5, 8, 1, 4, 7});
  CHECK(moved(Kind::kRotate, 180) == Levels{9, 8, 7, 6, 5, 4, 3, 2, 1});
  CHECK(moved(Kind::kRotate, 0) == picture);
  CHECK(moved(Kind::kShearX, .5) == Levels{1, 2, 3, 5, 6, 0, 8, 9, 0});
  CHECK(moved(Kind::kShearY, -1) == Levels{1, 0, 0, 4, 2, 0, 7, 5, 3});
  CHECK(grey_after({Kind::kAffine, {90, 0, 0, 1, 0, 0}}, picture, 3) ==
        Levels{7, 4, 1, 8, 5, 2, 9, 6, 3});
  CHECK(grey_after({Kind::kAffine, {0, 1, 0, 1, 0, 0}}, picture, 3) == moved(Kind::kTranslateX, 1));
}

TEST_CASE("operations: no interpolation changes pixels that go to whole places") {
  const Levels picture = make_picture(31, 17).pixels;
  for (const auto interpolation :
       {WarpInterpolation::kNearest, WarpInterpolation::kBilinear, WarpInterpolation::kBicubic}) {
    const Levels moved = after({Kind::kTranslateX, {5}, interpolation, kBlue}, picture, 31);
    for (std::size_t y = 0; y < 17; ++y) {
      for (std::size_t x = 0; x < 31; ++x) {
        for (std::size_t c = 0; c < 3; ++c) {
          const int expected = x < 5 ? kBlue[c] : picture[(y * 31 + x - 5) * 3 + c];
          REQUIRE(moved[(y * 31 + x) * 3 + c] == expected);
        }
      }
    }
  }
}

TEST_CASE("operations: any affine map of a picture of any size stays inside it") {
  SampleRandom random(1, 2, 3);
  const auto draw = [&](double most) { return random.uniform(-most, most); };
  for (int i = 0; i < 3000; ++i) {
    const int width = 1 + static_cast<int>(random.integer(40));
    const auto pixels = static_cast<std::size_t>(width * (1 + random.integer(40)));
    const Levels flat(3 * pixels, 77);
    const double scale = std::exp(draw(i % 5 == 0 ? 14 : 2));
    const Operation operation = {Kind::kAffine,
                                 {draw(360), draw(1e4), draw(30), scale, draw(89), draw(89)},
                                 static_cast<WarpInterpolation>(i % 3),
                                 {77, 77, 77}};
    REQUIRE(after(operation, flat, width) == flat);
  }
}

TEST_CASE("operations: colours that change in one pass are those of one after the other") {
  const Levels picture = make_picture(61, 43).pixels;
  const Operations all = {{Kind::kBrightness, {1.3}}, {Kind::kContrast, {.7}},
                          {Kind::kSaturation, {1.6}}, {Kind::kHue, {.1}},
                          {Kind::kSolarize, {128}},   {Kind::kGrayscale},
                          {Kind::kBrightness, {.9}}};
  Levels at_once = picture, one_by_one = picture;
  PixelBuffer scratch;
  perform(all, {at_once, 61, scratch});
  for (const Operation& operation : all) perform({operation}, {one_by_one, 61, scratch});
  CHECK(at_once == one_by_one);
}

TEST_CASE("operations: sharpness leaves the edge, and pictures without a middle") {
  const Levels picture = {10, 10, 10, 10,  //
                          10, 90, 10, 10,  //
                          10, 10, 10, 10};
  // The mean of 8 x 10 and 5 x 90 is 530 / 13 = 40.8; and of 11 x 10, with 90: 210 / 13 = 16.2.
  CHECK(grey_after({Kind::kSharpness, {0}}, picture, 4) ==
        Levels{10, 10, 10, 10, 10, 41, 16, 10, 10, 10, 10, 10});
  CHECK(grey_after({Kind::kSharpness, {2}}, picture, 4) ==
        Levels{10, 10, 10, 10, 10, 139, 4, 10, 10, 10, 10, 10});
  CHECK(grey_after({Kind::kSharpness, {0}}, {1, 200}, 1) == Levels{1, 200});
}

TEST_CASE("operations: a blur is a mean, mirrored at the edge") {
  CHECK(grey_after({Kind::kGaussianBlur, {23, 23, 2}}, Levels(40, 123), 8) == Levels(40, 123));
  CHECK(grey_after({Kind::kGaussianBlur, {9, 9, 5}}, {7}, 1) == Levels{7});
  const Levels line = grey_after({Kind::kGaussianBlur, {3, 1, 1}}, {0, 100, 0, 0}, 4);
  CHECK(line == Levels{55, 45, 27, 0});  // exp(-1/2) / (1 + 2 exp(-1/2)) is 0.274
}

TEST_CASE("filter kernels: vectors and plain C++ agree on rows of any length") {
  for_each_instruction_set([] {
    const FilterKernels fast = fastest_filter_kernels();
    const FilterKernels& plain = plain_filter_kernels();
    CAPTURE(fast.name);
    const Levels pixels = make_picture(90, 20).pixels;
    const std::size_t stride = 270;
    const std::vector<float> weights = {.4F, .2F, .07F, .03F};
    std::vector<const std::uint8_t*> rows;
    for (std::size_t i = 0; i < 2 * weights.size() - 1; ++i) rows.push_back(&pixels[i * stride]);
    for (const std::size_t count : {1U, 3U, 15U, 16U, 30U, 63U, 64U, 200U}) {
      Levels a(count + PixelBuffer::kSlack), b = a;
      for (const float share : {-1.0F, -.27F, .9F, 1.0F}) {
        const std::uint8_t* row = &pixels[5 * stride + 3];
        fast.sharpen_row(row - stride, row, row + stride, share, count, a.data());
        plain.sharpen_row(row - stride, row, row + stride, share, count, b.data());
        CHECK(a == b);
      }
      std::vector<float> down(count + PixelBuffer::kSlack), plainly = down;
      fast.blur_down(rows, weights, count, down.data());
      plain.blur_down(rows, weights, count, plainly.data());
      CHECK(std::equal(down.begin(), down.begin() + static_cast<std::ptrdiff_t>(count),
                       plainly.begin()));
      const std::vector<float> levels(pixels.begin(), pixels.end());
      fast.blur_across(&levels[30], weights, count, a.data());
      plain.blur_across(&levels[30], weights, count, b.data());
      CHECK(a == b);
    }
  });
}

TEST_CASE("policies: magnitudes of both signs, none of none") {
  const steps::RandAugment augment{.num_ops = 1, .moving = {}};
  int left = 0, right = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Operation operation = augment.plan({100, 200}, SampleRandom(1, 2, i)).front();
    if (operation.kind == Kind::kTranslateX) {
      // 9 / 30 of 150 / 331 of the width is 27.2.
      REQUIRE(std::abs(operation.values[0]) == 27);
      (operation.values[0] < 0 ? left : right) += 1;
    }
    if (operation.kind == Kind::kTranslateY) REQUIRE(std::abs(operation.values[0]) == 13);
    if (operation.kind == Kind::kPosterize) REQUIRE(operation.values[0] == 7);
    if (operation.kind == Kind::kSolarize) REQUIRE(operation.values[0] == 178.5);
  }
  CHECK(std::abs(left - 107) < 50);
  CHECK(std::abs(right - 107) < 50);
}

TEST_CASE("policies: a chain of no effect mixes a picture with itself") {
  // Only levels of severity 1 and no colours: shears, moves and turns of 0, posterize with 4 bits,
  // solarize at 255.
  const steps::AugMix mix{.severity = 1, .all_ops = 0};
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto plan = mix.plan(ImageSize{30, 40}, SampleRandom(1, 2, i));
    double sum = plan.own;
    for (const auto& chain : plan.chains) {
      sum += chain.weight;
      CHECK((chain.operations.size() >= 1 && chain.operations.size() <= 3));
    }
    CHECK(plan.chains.size() == 3);
    CHECK(std::abs(sum - 1) < 1e-9);
  }
}

TEST_CASE("policies: timm's text") {
  const auto again = [](const char* text) { return text_of(parse_pixel_steps(text)); };
  CHECK(again("rand-m9-mstd0.5-inc1") ==
        "TimmRandAugment(magnitude=9, magnitude_std=0.5, increasing=1)");
  CHECK(again("rand-n3-p1-mmax12, RandomInvert()") ==
        "TimmRandAugment(num_ops=3, p=1, magnitude_max=12), RandomInvert()");
  for (const char* text : {"rand-", "rand-m", "rand-q9", "rand-m9x", "augmix-m3", "rand-tweights",
                           "rand-m9-m8", "rand-m1e400", "rand-m9(p=1)"}) {
    CAPTURE(text);
    CHECK(kind_of_error([&] { parse_pixel_steps(text); }) == ErrorKind::kUsage);
  }
}

TEST_CASE("affine: a number shears along x only, four along both") {
  const auto shears = [](const char* text, std::uint64_t sample) {
    return parse_pixel_steps(text).front().explain(40, 30, SampleRandom(1, 2, sample));
  };
  for (std::uint64_t i = 0; i < 20; ++i) {
    CHECK(shears("RandomAffine(shear=10)", i).ends_with(", 0)"));
    CHECK(shears("RandomAffine(shear=(5, 10))", i).ends_with(", 0)"));
    CHECK_FALSE(shears("RandomAffine(shear=(0, 0, 5, 10))", i).ends_with(", 0)"));
  }
}

}  // namespace packhorse::reader::test
