#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "packhorse/targets/objects.h"
#include "unit/reader/fixtures.h"
#include "unit/reader/loader/epoch.h"

namespace packhorse::reader::test {

namespace {

/// Pictures of 48 x 32, each with as many objects as its number, up to five, in the left half.
class ObjectsDataset : public MemoryDataset {
 public:
  explicit ObjectsDataset(std::size_t count) : MemoryDataset({}) {
    targets_.front().classes = {"one", "two"};
    for (std::size_t i = 0; i < count; ++i)
      contents().push_back(make_jpeg(make_picture(48, 32, 3, static_cast<unsigned>(i))));
  }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<TargetRecord>& targets() const override { return targets_; }
  bool read_field(std::size_t i, std::size_t, std::vector<std::byte>& out) const override {
    Objects objects;
    for (std::size_t k = 0; k < std::min<std::size_t>(i, 5); ++k) {
      const auto left = static_cast<double>(4 * k);
      objects.boxes.push_back({static_cast<float>(left), 4, static_cast<float>(left) + 8, 20});
      objects.labels.push_back(static_cast<std::int32_t>(k) == bad_label ? 7 : 1);
      objects.flags.push_back(0);
      objects.outlines.insert(objects.outlines.end(),
                              {{left, 4}, {left + 8, 4}, {left + 8, 20}, {left, 20}});
      if (k == 0) objects.polygons = objects.points = {0};
      objects.points.push_back(static_cast<std::uint32_t>(objects.outlines.size()));
      objects.polygons.push_back(static_cast<std::uint32_t>(k + 1));
    }
    out = encode_objects(objects);
    return true;
  }
  std::int32_t bad_label = -1;

 private:
  std::vector<std::string> fields_{"objects"};
  std::vector<TargetRecord> targets_{{"objects", "objects", "json", {}, {}}};
};

LoaderOptions detection(int workers, DetectionAugment augment = {}) {
  augment.size = {40, 64};
  LoaderOptions options = options_for(workers);
  options.augment = augment;
  options.targets = TargetRules{.masks = TargetRules::Masks::kRunLengths};
  return options;
}

struct Everything {
  Epoch epoch;
  std::vector<Objects> objects;
  std::vector<std::vector<std::uint32_t>> offsets;
  friend bool operator==(const Everything&, const Everything&) = default;
};

Everything all_of(Loader& loader, std::uint64_t epoch) {
  Everything all;
  loader.start_epoch(epoch);
  while (const std::optional<Batch> batch = loader.next()) {
    append(all.epoch, *batch);
    all.objects.push_back(batch->targets().objects);
    all.offsets.push_back(batch->targets().offsets);
  }
  return all;
}

constexpr DetectionAugment kEverything = {.mosaic = {.probability = .5},
                                          .zoom_out = {.probability = .5},
                                          .crop = {.probability = .5},
                                          .perspective = {.probability = .3},
                                          .affine = {.degrees = {-10, 10}, .min_scale = .5},
                                          .flip = .5,
                                          .copy_paste = {.probability = .5},
                                          .mixup = {.probability = .3}};

}  // namespace

TEST_CASE("composer: a letterbox and its objects, in rectangles") {
  Loader loader(std::make_shared<ObjectsDataset>(10), detection(0));
  loader.start_epoch(0);
  while (const std::optional<Batch> batch = loader.next()) {
    CHECK(batch->height() == 40);
    CHECK(batch->width() == 64);
    CHECK(batch->images().size() == 5 * 40 * 64 * 3);
    const BatchTargets& targets = batch->targets();
    REQUIRE(targets.offsets.size() == 6);
    for (std::size_t i = 0; i < 5; ++i) {
      const std::uint32_t count = targets.offsets[i + 1] - targets.offsets[i];
      CHECK(count == std::min<std::uint64_t>(batch->samples()[i], 5));
      if (count == 0) continue;
      // 48 x 32 becomes 60 x 40, two pixels from the left.
      CHECK(targets.objects.boxes[targets.offsets[i]] == Box{2, 5, 12, 25});
      const std::uint8_t* row = batch->images().data() + i * 40 * 64 * 3;
      CHECK(row[0] == 114);
      CHECK(row[63 * 3] == 114);
    }
  }
}

TEST_CASE("composer: samples of several pictures do not depend on the threads") {
  const auto dataset = std::make_shared<ObjectsDataset>(30);
  Loader alone(dataset, detection(0, kEverything));
  const Everything expected = all_of(alone, 2);
  Loader several(dataset, detection(3, kEverything));
  CHECK((all_of(several, 2) == expected));
  CHECK_FALSE((all_of(several, 3) == expected));
}

TEST_CASE("composer: a mosaic has the objects of four samples, and four pictures meet in it") {
  const auto dataset = std::make_shared<ObjectsDataset>(30);
  std::set<std::size_t> read;
  dataset->on_read = [&](std::size_t i) { read.insert(i); };
  LoaderOptions options = detection(0, {.mosaic = {.probability = 1}});
  options.batch_size = 1;
  Loader loader(dataset, options);
  loader.start_epoch(0);
  std::size_t objects = 0;
  for (int i = 0; i < 10; ++i) {
    read.clear();
    const std::optional<Batch> batch = loader.next();
    CHECK(read.size() >= 2);  // the same one may be drawn twice
    CHECK(read.size() <= 4);
    CHECK(read.contains(batch->samples().front()));
    for (const Box& box : batch->targets().objects.boxes) {
      CHECK(box.left >= 0);
      CHECK(box.bottom <= 40);
    }
    objects += batch->targets().objects.size();
  }
  CHECK(objects > 50);
}

TEST_CASE(
    "composer: a bad picture in a mosaic is replaced and named; without replacing it ends the "
    "epoch") {
  const auto dataset = std::make_shared<ObjectsDataset>(30);
  dataset->contents()[7].resize(20);
  LoaderOptions options = detection(2, {.mosaic = {.probability = 1}});
  options.bad_samples = BadSampleOptions::parse("500");
  Loader loader(dataset, options);
  CHECK(all_of(loader, 0).epoch.samples.size() == 30);
  const std::vector<BadSample> bad = loader.bad_samples();
  CHECK(bad.size() > 1);  // as itself, and beside others
  for (const BadSample& one : bad) CHECK(one.sample == 7);
  options.bad_samples = BadSampleOptions::parse("0");
  Loader strict(dataset, options);
  CHECK_THROWS_WITH_AS(all_of(strict, 0), doctest::Contains("memory sample 7"), Error);
}

TEST_CASE("composer: from the epoch that closes the mosaic on, samples are of one picture") {
  const auto dataset = std::make_shared<ObjectsDataset>(30);
  DetectionAugment single = kEverything;
  single.mosaic.probability = single.copy_paste.probability = single.mixup.probability = 0;
  LoaderOptions closing = detection(2, kEverything);
  closing.close_mosaic_from = 3;
  Loader loader(dataset, closing), open(dataset, detection(0, kEverything)),
      closed(dataset, detection(0, single));
  CHECK((all_of(loader, 2) == all_of(open, 2)));
  for (const std::uint64_t epoch : {3U, 4U, 2U, 3U}) {
    CAPTURE(epoch);
    CHECK((all_of(loader, epoch) == all_of(epoch < 3 ? open : closed, epoch)));
  }
}

TEST_CASE("composer: the objects that are taken out of a batch are its own") {
  Loader loader(std::make_shared<ObjectsDataset>(10), detection(0));
  loader.start_epoch(0);
  std::optional<Batch> batch = loader.next();
  const BatchTargets expected = batch->targets();
  const BatchTargets taken = batch->take_targets();
  CHECK(batch->targets().objects.size() == 0);
  while ((batch = loader.next())) CHECK(batch->targets().offsets.size() == 6);
  CHECK(taken.offsets == expected.offsets);
  CHECK((taken.objects == expected.objects));
}

TEST_CASE("composer: crops for classification place objects, too") {
  LoaderOptions options = options_for(0);
  options.augment = Resize{16};
  options.targets = TargetRules{};
  Loader loader(std::make_shared<ObjectsDataset>(10), options);
  for (const Objects& objects : all_of(loader, 0).objects) {
    for (const Box& box : objects.boxes) CHECK(box.top == 2);  // 4 of 32
    CHECK_FALSE(objects.outlines.empty());
  }
}

TEST_CASE("composer: what cannot be read or asked for is refused") {
  const auto refused = [](const std::shared_ptr<const Dataset>& dataset,
                          const LoaderOptions& options) {
    return kind_of_error([&] { Loader(dataset, options); });
  };
  CHECK(refused(make_dataset(10), detection(0)) == ErrorKind::kUsage);  // it has no objects
  const auto dataset = std::make_shared<ObjectsDataset>(10);
  LoaderOptions options = detection(0, {.copy_paste = {.probability = 1}});
  options.targets = TargetRules{};  // polygons cannot be cut out of each other
  CHECK(refused(dataset, options) == ErrorKind::kUsage);
  options = detection(0);
  options.encoded_share = 1;
  CHECK(refused(dataset, options) == ErrorKind::kUsage);
  options = detection(0);
  options.close_mosaic_from = 2;  // there is none
  CHECK(refused(dataset, options) == ErrorKind::kUsage);
  options = detection(0, {.mosaic = {.pictures = 5}});
  CHECK(refused(dataset, options) == ErrorKind::kUsage);
  dataset->bad_label = 2;
  Loader loader(dataset, detection(0));
  CHECK(kind_of_error([&] { all_of(loader, 0); }) == ErrorKind::kCorrupt);
}

}  // namespace packhorse::reader::test
