// tests/interop/test_augment.py compares with torchvision's own pixels and distributions.
#include "packhorse/reader/pixel_steps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "augment/color_steps.h"
#include "augment/operations.h"
#include "augment/steps/color_jitter.h"
#include "augment/steps/photometric_distort.h"
#include "augment/steps/random_erasing.h"
#include "packhorse/reader/decode.h"
#include "packhorse/reader/loader.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

using Pixels = std::vector<std::uint8_t>;

Pixels made(int width, int height) { return make_picture(width, height).pixels; }

using Kind = Operation::Kind;

constexpr ImageSize kPictureSize = {30, 40};

Pixels performed(const Operations& operations, int width, Pixels pixels) {
  PixelBuffer scratch;
  perform(operations, {pixels, width, scratch});
  return pixels;
}

Pixels erased(const steps::RandomErasing& erasing, const steps::RandomErasing::Box& box, int width,
              Pixels pixels) {
  PixelBuffer scratch;
  erasing.erase(box, {pixels, width, scratch}, SampleRandom(1, 2, 3));
  return pixels;
}

const char* const kAll = "ColorJitter(0.4, 0.4, 0.4, 0.1), RandomErasing(1, value=None)";

}  // namespace

TEST_CASE("colour jitter: nothing is drawn and nothing changes at amounts of zero") {
  CHECK(steps::ColorJitter{}.plan(kPictureSize, SampleRandom(1, 2, 3)).empty());
  const steps::ColorJitter still{.brightness = steps::Range{1, 1}, .hue = steps::Range{0, 0}};
  CHECK(still.plan(kPictureSize, SampleRandom(1, 2, 3)).empty());
}

TEST_CASE("colour jitter: ranges are factors, numbers how far they are from 1") {
  const steps::ColorJitter jitter{.brightness = steps::Range{.2, .3}, .contrast = .1};
  for (std::uint64_t sample = 0; sample < 500; ++sample) {
    for (const Operation& operation : jitter.plan(kPictureSize, SampleRandom(1, 2, sample))) {
      const bool is_brightness = operation.kind == Kind::kBrightness;
      REQUIRE((is_brightness || operation.kind == Kind::kContrast));
      REQUIRE(operation.values[0] >= (is_brightness ? .2 : .9));
      REQUIRE(operation.values[0] <= (is_brightness ? .3 : 1.1));
    }
  }
}

TEST_CASE("colour jitter: as often as its probability says, and then the same as without it") {
  int done = 0;
  for (std::uint64_t sample = 0; sample < 2000; ++sample) {
    const SampleRandom random(1, 2, sample);
    const Operations some = steps::ColorJitter{.hue = .1, .p = .8}.plan(kPictureSize, random);
    done += some.empty() ? 0 : 1;
    const Operations all = steps::ColorJitter{.hue = .1}.plan(kPictureSize, random);
    if (!some.empty()) REQUIRE(text_of(some) == text_of(all));
  }
  CHECK(std::abs(done - 1600) < 90);
}

TEST_CASE("colour jitter: factors stay at zero or above") {
  for (std::uint64_t sample = 0; sample < 2000; ++sample) {
    const steps::ColorJitter jitter{.brightness = 3.0, .contrast = 3.0};
    for (const Operation& operation : jitter.plan(kPictureSize, SampleRandom(1, 2, sample))) {
      REQUIRE(operation.values[0] >= 0);
      REQUIRE(operation.values[0] < 4);
    }
  }
}

TEST_CASE("colour jitter: extremes are black, grey, and the other side of the hues") {
  const auto changed = [](Kind kind, double value, const Pixels& pixels) {
    return performed({{kind, {value}}}, 2, pixels);
  };
  CHECK(changed(Kind::kBrightness, 0, {200, 100, 0, 10, 20, 30}) == Pixels(6));
  const Pixels red_green = {255, 0, 0, 0, 255, 0};
  CHECK(changed(Kind::kSaturation, 0, red_green) == Pixels{76, 76, 76, 149, 149, 149});
  CHECK(changed(Kind::kGrayscale, 0, red_green) == Pixels{76, 76, 76, 149, 149, 149});
  CHECK(changed(Kind::kHue, 0.5, red_green) == Pixels{0, 255, 255, 255, 0, 255});
  // 254 / 2: white's grey is truncated.
  CHECK(changed(Kind::kContrast, 0, {255, 255, 255, 0, 0, 0}) == Pixels(6, 127));
}

TEST_CASE("colour jitter: vectors and plain C++ agree, one step or several in a pass") {
  using Step = ColorStep::Kind;
  const ColorSteps& plain = plain_color_steps();
  const ColorSteps fast = fastest_color_steps();
  CAPTURE(fast.name);
  for (const int width : {1, 5, 16, 77}) {  // whole numbers of blocks, and others
    const Pixels original = made(width, 33);
    CHECK(fast.grey_sum(original) == plain.grey_sum(original));
    for (const double amount : {-0.5, -0.21, 0.0, 0.1, 0.37, 0.5}) {
      const auto a = static_cast<float>(amount);
      const std::vector<ColorStep> all = {{Step::kSaturation, 1 + a, -a},
                                          {Step::kHue, 6 * a},
                                          {Step::kLevels, 1 + a, 20 * a},
                                          {Step::kLevels, 1 - a, -9}};
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
  const steps::PhotometricDistort distort{.p = .5};
  int brightness = 0, contrast = 0, hue = 0, permuted = 0, late = 0;
  constexpr int kDraws = 4000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const Operations plan = distort.plan(kPictureSize, SampleRandom(5, 1, i));
    const auto place = [&](Kind kind) {
      return std::ranges::find(plan, kind, &Operation::kind) - plan.begin();
    };
    const auto is_drawn = [&](Kind kind, double low, double high) {
      const auto at = place(kind);
      if (at == std::ssize(plan)) return 0;
      const double value = plan[static_cast<std::size_t>(at)].values[0];
      CHECK((value >= low && value <= high));
      return 1;
    };
    brightness += is_drawn(Kind::kBrightness, .875, 1.125);
    contrast += is_drawn(Kind::kContrast, .5, 1.5);
    hue += is_drawn(Kind::kHue, -.05, .05);
    permuted += is_drawn(Kind::kSwapChannels, 0, 2);
    const bool both =
        place(Kind::kContrast) < std::ssize(plan) && place(Kind::kHue) < std::ssize(plan);
    late += both && place(Kind::kContrast) > place(Kind::kHue) ? 1 : 0;
    CHECK((place(Kind::kBrightness) == 0 || place(Kind::kBrightness) == std::ssize(plan)));
  }
  // Five standard deviations of a binomial: 158.
  for (const int count : {brightness, contrast, hue, permuted})
    CHECK(std::abs(count - kDraws / 2) < 158);
  CHECK(std::abs(late - kDraws / 8) < 105);
}

TEST_CASE("photometric distortion: channels change places after the colours") {
  const Operations plan = {{Kind::kBrightness, {2}}, {Kind::kSwapChannels, {2, 0, 1}}};
  CHECK(performed(plan, 2, {10, 20, 30, 40, 50, 60}) == Pixels{60, 20, 40, 120, 80, 100});
}

TEST_CASE("random erasing: the box and nothing else gets the value") {
  const Pixels before = made(20, 10);
  const steps::RandomErasing::Box box{.x = 3, .y = 2, .w = 5, .h = 4};
  const Pixels after = erased({.value = {{1, 2, 3}}}, box, 20, before);
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
  const steps::RandomErasing noise{
      .value = std::nullopt, .mean = {60, 128, 200}, .std = {5, 20, 10}};
  const Pixels pixels = erased(noise, {.w = 200, .h = 200}, 200, Pixels(200 * 200 * 3));
  for (std::size_t c = 0; c < 3; ++c) {
    double sum = 0, squares = 0;
    for (std::size_t i = c; i < pixels.size(); i += 3) {
      sum += pixels[i];
      squares += double{1} * pixels[i] * pixels[i];
    }
    const double n = 200 * 200, mean = sum / n;
    CHECK(std::abs(mean - noise.mean[c]) < 4 * noise.std[c] / 200);
    CHECK(std::abs(std::sqrt(squares / n - mean * mean) / noise.std[c] - 1) < 0.03);
  }
}

TEST_CASE("random erasing: as often as its probability says, within the picture") {
  int boxes = 0;
  for (std::uint64_t sample = 0; sample < 10000; ++sample) {
    const auto plan = steps::RandomErasing{.p = 0.25}.plan(61, 47, SampleRandom(1, 2, sample));
    boxes += plan.w > 0 ? 1 : 0;
    REQUIRE(plan.x >= 0);
    REQUIRE(plan.y >= 0);
    REQUIRE(plan.x + plan.w <= 61);
    REQUIRE(plan.y + plan.h <= 47);
  }
  CHECK(std::abs(boxes - 2500) < 180);
}

TEST_CASE("random erasing: a sample of one pixel is left alone") {
  const auto plan = steps::RandomErasing{.p = 1}.plan(1, 1, SampleRandom(1, 2, 3));
  CHECK(plan.w * plan.h == 0);
}

TEST_CASE("pixel steps: a function of seed, epoch and sample that leaves the crop as it is") {
  const File file = make_jpeg(make_picture(120, 90));
  const RandomResizedCrop crop{.size = 48};
  const auto decode = [&](const PixelSteps& steps, std::uint64_t sample) {
    Pixels out(48 * 48 * 3);
    Decoder({.pixels = steps}).decode(file, crop, SampleRandom(7, 1, sample), out);
    return out;
  };
  const PixelSteps all = parse_pixel_steps(kAll);
  CHECK(decode(all, 1) == decode(all, 1));
  CHECK(decode(all, 1) != decode(all, 2));
  Pixels plain = decode({}, 1);
  CHECK(plain != decode(all, 1));
  apply(all, SampleRandom(7, 1, 1), 48, plain);
  CHECK(plain == decode(all, 1));
}

TEST_CASE("pixel steps: the loader's samples get them, whoever decodes them") {
  const auto dataset = make_dataset(6);
  const auto images = [&](const char* steps, int workers) {
    Loader loader(dataset, {.batch_size = 6,
                            .workers = workers,
                            .augment = RandomResizedCrop{.size = 24},
                            .pixels = parse_pixel_steps(steps)});
    loader.start_epoch(1);
    const std::optional<Batch> batch = loader.next();
    return Pixels(batch->images().begin(), batch->images().end());
  };
  CHECK(images(kAll, 3) == images(kAll, 0));
  CHECK(images(kAll, 0) != images("", 0));
}

TEST_CASE("pixel steps: what one draws depends on no other step") {
  const auto after = [&](const char* steps) {
    Pixels pixels = made(40, 30);
    apply(parse_pixel_steps(steps), SampleRandom(7, 1, 1), 40, pixels);
    return pixels;
  };
  const auto changed = [&](const Pixels& pixels) {
    std::vector<bool> places;
    const Pixels before = made(40, 30);
    for (std::size_t i = 0; i < pixels.size(); ++i) places.push_back(pixels[i] != before[i]);
    return places;
  };
  const char* const kErasing = "RandomErasing(1, value=(1, 254, 3))";
  CHECK(changed(after(kErasing)) ==
        changed(after("PhotometricDistort(0), RandomErasing(1, value=(1, 254, 3))")));
  // Two of one name draw differently: the second erases another box.
  const std::string twice = std::string(kErasing) + ", " + kErasing;
  CHECK(after(twice.c_str()) != after(kErasing));
}

TEST_CASE("pixel steps: those that move pixels say so") {
  const PixelSteps flip = parse_pixel_steps("RandomHorizontalFlip(1)");
  const SampleRandom random(7, 1, 1);
  for (const PixelStepKind& kind : all_pixel_steps()) {
    if (kind.name == "RandomErasing") continue;  // of a place, but nothing moves
    CAPTURE(kind.name);
    std::vector<PixelStep::Argument> arguments;
    for (const auto& parameter : kind.parameters) {
      if (parameter.name == "p") arguments.push_back({"p", std::vector{1.0}});
      if (parameter.name == "degrees") arguments.push_back({"degrees", std::vector{30.0}});
    }
    const PixelStep step(kind.name, arguments);
    const bool is_flip = kind.name == "RandomHorizontalFlip";
    bool moved = is_flip;
    for (std::uint64_t sample = 0; sample < 20; ++sample) {
      Pixels first = made(40, 30), last = first;
      step.apply(first, 40, SampleRandom(7, 1, sample));
      apply(flip, random, 40, first);
      apply(flip, random, 40, last);
      step.apply(last, 40, SampleRandom(7, 1, sample));
      moved = moved || first != last;
    }
    // A flip upside down goes with one from left to right.
    CHECK(step.moves_pixels() == (moved || kind.name == "RandomVerticalFlip"));
  }
}

TEST_CASE("pixel steps: in the order in which they are given") {
  Pixels first = made(40, 30), last = first;
  const SampleRandom random(7, 1, 1);
  apply(parse_pixel_steps("RandomErasing(1, value=(255, 0, 0)), ColorJitter(hue=0.5)"), random, 40,
        first);
  apply(parse_pixel_steps("ColorJitter(hue=0.5), RandomErasing(1, value=(255, 0, 0))"), random, 40,
        last);
  const auto reds = [](const Pixels& pixels) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < pixels.size(); i += 3)
      count += pixels[i] == 255 && pixels[i + 1] == 0 && pixels[i + 2] == 0 ? 1U : 0U;
    return count;
  };
  CHECK(reds(last) > 0);
  CHECK(reds(first) == 0);
}

TEST_CASE("pixel steps: text with what differs from the defaults, which makes the same steps") {
  const auto again = [](const char* text) { return text_of(parse_pixel_steps(text)); };
  CHECK(again("") == "");
  CHECK(again("ColorJitter") == "ColorJitter()");
  CHECK(
      again(" ColorJitter( 0.4,hue = .1 ) , RandomErasing(0.5, scale=(0.1, 0.2,), value=None,)") ==
      "ColorJitter(brightness=0.4, hue=0.1), RandomErasing(scale=(0.1, 0.2), value=None)");
  for (const char* text :
       {kAll, "PhotometricDistort(0.25, hue=(-0.5, 0.5))",
        "RandomErasing(p=1e-3, value=(1, 2, 3)), RandomErasing()",
        "AutoAugment(policy='cifar10', fill=(1, 2, 3))", "RandAugment(interpolation=\"bicubic\")",
        "RandomAffine(10, None, (0.5, 2), (-5, 5, 1, 2), bilinear)",
        "ColorJitter((0.6, 1.4), hue=(-0.1, 0.1), p=0.8)"}) {
    CHECK(again(again(text).c_str()) == again(text));
    CHECK(parse_pixel_steps(again(text)) == parse_pixel_steps(text));
  }
}

TEST_CASE("pixel steps: nonsense is refused") {
  for (const char* text : {"ColorJitter(brightness=-1)",
                           "ColorJitter(hue=0.6)",
                           "ColorJitter(1e999)",
                           "ColorJitter(nan)",
                           "ColorJitter(contrast=inf)",
                           "ColorJitter(brightness=(1, 0))",
                           "ColorJitter(brightness=(0, 1, 2))",
                           "ColorJitter(brightness=(-1, 1))",
                           "ColorJitter(hue=(-0.6, 0))",
                           "ColorJitter(brightness='much')",
                           "ColorJitter(p=2)",
                           "ColorJitter(brightness=None)",
                           "ColorJitter(0.1, brightness=0.1)",
                           "ColorJitter(1, 1, 1, 0.1, 0, 0)",
                           "RandAugment(2.5)",
                           "RandAugment(17)",
                           "RandAugment(magnitude=31)",
                           "RandAugment(num_magnitude_bins=1)",
                           "RandAugment(interpolation=cubic)",
                           "RandAugment(interpolation=1)",
                           "RandAugment(interpolation='bilinear)",
                           "RandAugment(fill=(1, 2))",
                           "RandAugment(fill=256)",
                           "TimmRandAugment(fill=0)",
                           "TimmRandAugment(increasing=2)",
                           "TimmRandAugment(magnitude_std=inf)",
                           "AutoAugment(mnist)",
                           "AugMix(severity=0)",
                           "AugMix(chain_depth=0)",
                           "AugMix(alpha=0)",
                           "GaussianBlur(22)",
                           "GaussianBlur((3, 257))",
                           "GaussianBlur(sigma=0)",
                           "GaussianBlur(sigma=(1, 0.5))",
                           "ThreeAugment((0, 1))",
                           "RandomPosterize(9)",
                           "RandomSolarize(256)",
                           "RandomAdjustSharpness(-1)",
                           "RandomRotation(-10)",
                           "RandomRotation((0, 400))",
                           "RandomAffine(translate=0.1)",
                           "RandomAffine(translate=(0, 1.1))",
                           "RandomAffine(scale=(0, 1))",
                           "RandomAffine(shear=90)",
                           "RandomAffine(shear=(1, 2, 3))",
                           "ColorJitter(colour=1)",
                           "ColorJitter(",
                           "ColorJitter(1",
                           "ColorJitter(1 1)",
                           "ColorJitter()ColorJitter()",
                           "ColorJitter(),",
                           "()",
                           "Jitter(1)",
                           "RandomErasing(1.1)",
                           "RandomErasing(scale=0.5)",
                           "RandomErasing(scale=(0.5, 0.2))",
                           "RandomErasing(scale=(0, 2))",
                           "RandomErasing(ratio=(0, 1))",
                           "RandomErasing(std=(1, -1, 1))",
                           "RandomErasing(value=(0, 0, 256))",
                           "RandomErasing(value=(0, 0, 0.5))",
                           "PhotometricDistort(hue=(-1, 0))",
                           "PhotometricDistort(contrast=(2, 1))"}) {
    CAPTURE(text);
    CHECK(kind_of_error([&] { parse_pixel_steps(text); }) == ErrorKind::kUsage);
  }
  const std::string longest(100'000, '(');
  CHECK(kind_of_error([&] { parse_pixel_steps(longest); }) == ErrorKind::kUsage);
}

TEST_CASE("pixel steps: a message names the step, the parameter and what there is") {
  const auto said = [](const char* text) {
    try {
      parse_pixel_steps(text);
    } catch (const Error& error) {
      return error.what() + std::string("; ") + error.advice();
    }
    return std::string();
  };
  CHECK(said("ColorJitter(colour=1)").find("ColorJitter: has no parameter 'colour'") == 0);
  CHECK(said("ColorJiter()").find("did you mean ColorJitter?") != std::string::npos);
  CHECK(said("RandomErasing(scale=1)").find("scale=1: give two numbers") != std::string::npos);
  CHECK(said("RandAugment(interpolation=cubic)").find("give 'nearest', 'bilinear', 'bicubic'") !=
        std::string::npos);
  CHECK(said("ColorJitter(hue=None)").find("hue=None: give one number or two numbers") !=
        std::string::npos);
}

}  // namespace packhorse::reader::test
