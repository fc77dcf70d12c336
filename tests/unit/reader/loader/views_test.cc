#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "packhorse/reader/loader.h"
#include "unit/reader/fixtures.h"
#include "unit/reader/loader/epoch.h"

namespace packhorse::reader::test {

namespace {

LoaderOptions three_views(int workers) {
  LoaderOptions options = options_for(workers);
  options.augment = RandomResizedCrop{.size = {40, 24}, .min_scale = 0.4};
  options.pixels = parse_pixel_steps("ColorJitter(brightness=0.4)");
  options.more_views = {
      {RandomResizedCrop{.size = 16, .max_scale = 0.4}, parse_pixel_steps("RandomErasing(1)")},
      {RandomResizedCrop{.size = {40, 24}, .min_scale = 0.4, .flip = 1}, {}},
      {PadCrop{.size = {12, 31}}, {}}};
  return options;
}

std::vector<std::uint8_t> copied(std::span<const std::uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

/// The views of all batches of an epoch.
std::vector<std::vector<std::uint8_t>> views_of(const std::shared_ptr<const Dataset>& dataset,
                                                const LoaderOptions& options) {
  std::vector<std::vector<std::uint8_t>> all;
  Loader loader(dataset, options);
  loader.start_epoch(2);
  while (const std::optional<Batch> batch = loader.next())
    for (std::size_t v = 0; v < batch->views(); ++v) all.push_back(copied(batch->images(v)));
  return all;
}

}  // namespace

TEST_CASE("views: the first is what a loader makes without others, each has its size and place") {
  const auto dataset = make_dataset(20);
  const LoaderOptions several = three_views(2);
  LoaderOptions alone = several;
  alone.more_views.clear();
  Loader both(dataset, several), one(dataset, alone);
  both.start_epoch(3);
  one.start_epoch(3);
  while (const std::optional<Batch> batch = both.next()) {
    const std::optional<Batch> first = one.next();
    REQUIRE(batch->views() == 4);
    CHECK(first->views() == 1);
    CHECK(std::ranges::equal(batch->images(), first->images()));
    const ImageSize sizes[] = {{40, 24}, 16, {40, 24}, {12, 31}};
    const std::uint8_t* end = batch->images().data();
    for (std::size_t v = 0; v < 4; ++v) {
      CHECK(ImageSize{batch->height(v), batch->width(v)} == sizes[v]);
      CHECK(batch->images(v).data() == end);
      CHECK(batch->images(v).size() ==
            5 * 3 * static_cast<std::size_t>(sizes[v].height * sizes[v].width));
      end += batch->images(v).size();
    }
    CHECK(batch->images(4).empty());
    CHECK(first->images(1).empty());
    // Views of equal crops differ: each draws for itself.
    CHECK(!std::ranges::equal(batch->images(0), batch->images(2)));
  }
}

TEST_CASE("views: they are the same for any number of workers, and others with another seed") {
  const auto dataset = make_dataset(20);
  const auto expected = views_of(dataset, three_views(0));
  CHECK(expected.size() == 16);
  for (int workers : {1, 3}) CHECK((views_of(dataset, three_views(workers)) == expected));
  LoaderOptions other = three_views(2);
  other.seed = 12;
  CHECK((views_of(dataset, other) != expected));
}

TEST_CASE("views: numbers of another type are those of the bytes") {
  const auto dataset = make_dataset(20);
  LoaderOptions options = three_views(2);
  const auto bytes = views_of(dataset, options);
  options.format.type = PixelType::kFloat32;
  const auto floats = views_of(dataset, options);
  REQUIRE(bytes.size() == floats.size());
  for (std::size_t v = 0; v < bytes.size(); ++v) {
    REQUIRE(floats[v].size() == 4 * bytes[v].size());
    const auto* const numbers = reinterpret_cast<const float*>(floats[v].data());
    for (std::size_t i = 0; i < bytes[v].size(); ++i)
      REQUIRE(numbers[i] == static_cast<float>(bytes[v][i]) / 255.F);
  }
}

TEST_CASE("views: what is left out is black in all of them") {
  const auto dataset = make_dataset(20);
  LoaderOptions options = three_views(2);
  options.bad_samples = BadSampleOptions::parse("9");
  options.bad_samples.policy = BadSamplePolicy::kLeaveOut;
  dataset->contents()[4].resize(100);
  Loader loader(dataset, options);
  loader.start_epoch(0);
  int left_out = 0;
  while (const std::optional<Batch> batch = loader.next()) {
    for (std::size_t i = 0; i < 5; ++i) {
      if (batch->samples()[i] != kLeftOut) continue;
      ++left_out;
      for (std::size_t v = 0; v < 4; ++v) {
        const std::size_t size = batch->images(v).size() / 5;
        const auto image = batch->images(v).subspan(i * size, size);
        CHECK(std::ranges::count(image, 0) == static_cast<std::ptrdiff_t>(size));
      }
    }
  }
  CHECK(left_out == 1);
}

TEST_CASE("views: they are crops without targets, and none is left encoded") {
  const auto refused = [](const auto& change) {
    LoaderOptions options = three_views(0);
    change(options);
    return kind_of_error([&] { options.validate(); }) == ErrorKind::kUsage;
  };
  three_views(0).validate();
  CHECK(refused([](LoaderOptions& o) { o.more_views[1].augment = DetectionAugment{}; }));
  CHECK(refused([](LoaderOptions& o) { o.augment = DetectionAugment{}; }));
  CHECK(refused([](LoaderOptions& o) { o.more_views[0].augment = Resize{0}; }));
  CHECK(refused([](LoaderOptions& o) { o.targets.emplace(); }));
  CHECK(refused([](LoaderOptions& o) { o.mix.mixup_alpha = 1; }));
  CHECK(refused([](LoaderOptions& o) { o.encoded_share = 0.5; }));
  CHECK(refused([](LoaderOptions& o) {
    o.pixels.clear();
    o.bands.emplace();
  }));
}

}  // namespace packhorse::reader::test
