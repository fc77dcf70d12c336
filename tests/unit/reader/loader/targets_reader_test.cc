#include "loader/targets_reader.h"

#include <doctest/doctest.h>

#include <array>

#include "codecs/encode.h"
#include "packhorse/base/error.h"
#include "unit/reader/fixtures.h"
#include "unit/reader/loader/epoch.h"

namespace packhorse::reader::test {

namespace {

constexpr std::size_t kPictures = 12;
constexpr int kWidth = 48, kHeight = 32;

std::uint8_t grey_of(std::uint64_t sample) { return static_cast<std::uint8_t>(20 * sample + 10); }

/// Pictures of one grey each. The mask of sample i is i wherever it is not 200, in the first rows;
/// its classes are i and i + 1, its caption the number; sample 3 has neither caption nor mask.
class SaidDataset : public MemoryDataset {
 public:
  SaidDataset() : MemoryDataset({}) {
    for (std::size_t i = 0; i < kPictures; ++i) {
      Picture picture = make_picture(kWidth, kHeight, 3, 0);
      std::fill(picture.pixels.begin(), picture.pixels.end(), grey_of(i));
      contents().push_back(make_jpeg(picture));
    }
    targets_[0].classes.resize(kPictures + 1, "class");
    targets_[2].ignore = 77;
  }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<TargetRecord>& targets() const override { return targets_; }
  bool read_field(std::size_t i, std::size_t field, std::vector<std::byte>& out) const override {
    const auto number = static_cast<std::int32_t>(i);
    if (field == 0) out = encode_classes({{number, number + 1}, {}});
    if (field > 0 && i == 3) return false;
    const std::string caption = std::to_string(i);
    if (field == 1) out.assign(as_bytes(caption).begin(), as_bytes(caption).end());
    if (field != 2) return true;
    ImageInfo info;
    info.width = kWidth, info.height = kHeight, info.components = 1;
    std::vector<std::byte> labels(kWidth * kHeight, static_cast<std::byte>(i));
    std::fill_n(labels.begin(), 4 * kWidth, std::byte{200});
    encode_png(info, labels, out);
    return true;
  }
  std::vector<TargetRecord> targets_{{"classes", "classes"}, {"text", "caption"}, {"seg", "mask"}};

 private:
  std::vector<std::string> fields_{"classes", "text", "seg"};
};

LoaderOptions said(DetectionAugment augment, int workers = 0) {
  augment.size = {40, 64};
  LoaderOptions options = options_for(workers);
  options.batch_size = 4;
  options.augment = augment;
  options.targets = TargetRules{.masks = TargetRules::Masks::kRunLengths};
  return options;
}

/// Wherever a label and its neighbours are those of one sample, the pixel has that sample's grey.
void check_masks(const Batch& batch, bool all_of_one) {
  const auto& masks = batch.targets().masks;
  const auto pixels =
      static_cast<std::size_t>(batch.height()) * static_cast<std::size_t>(batch.width());
  REQUIRE(masks.size() == static_cast<std::size_t>(batch.size()) * pixels);
  const auto width = static_cast<std::size_t>(batch.width());
  std::size_t compared = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.size()); ++i) {
    for (std::size_t p = width + 1; p + width + 1 < pixels; ++p) {
      const std::uint8_t* at = masks.data() + i * pixels + p;
      const std::uint8_t label = *at;
      const auto same = [&](std::ptrdiff_t step) { return at[step] == label; };
      const auto row = static_cast<std::ptrdiff_t>(width);
      if (!same(-1) || !same(1) || !same(-row) || !same(row)) continue;
      if (label == 77 || label == 200) continue;
      if (all_of_one) CHECK(label == batch.samples()[i]);
      const int grey = batch.images()[(i * pixels + p) * 3];
      CHECK(std::abs(grey - grey_of(label)) <= 1);
      ++compared;
    }
  }
  CHECK(compared > pixels / 4);
}

}  // namespace

TEST_CASE("targets reader: classes, captions and masks of a letterbox") {
  Loader loader(std::make_shared<SaidDataset>(), said({}));
  loader.start_epoch(0);
  std::size_t batches = 0;
  while (const std::optional<Batch> batch = loader.next()) {
    ++batches;
    check_masks(*batch, true);
    const BatchTargets& targets = batch->targets();
    CHECK(targets.objects.size() == 0);
    CHECK(targets.offsets == std::vector<std::uint32_t>(5, 0));
    CHECK(targets.class_offsets == std::vector<std::uint32_t>{0, 2, 4, 6, 8});
    std::string captions;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto sample = static_cast<std::int32_t>(batch->samples()[i]);
      CHECK(targets.classes.labels[2 * i] == sample);
      if (sample != 3) captions += std::to_string(sample);
      CHECK(targets.caption_offsets[i + 1] == captions.size());
      // 48 x 32 becomes 60 x 40, two pixels from the left: outside, no class; five rows are 200.
      const std::uint8_t* mask = targets.masks.data() + i * 40 * 64;
      CHECK(mask[0] == 77);
      CHECK(mask[4 * 64 + 2] == (sample == 3 ? 77 : 200));
      CHECK(mask[5 * 64 + 2] == (sample == 3 ? 77 : sample));
    }
    CHECK(targets.captions == captions);
  }
  CHECK(batches == 3);
}

TEST_CASE("targets reader: masks go where the pixels of mosaics and turned pictures go") {
  const DetectionAugment augment{
      .mosaic = {.probability = .7},
      .affine = {.degrees = {-20, 20}, .translate = {.1, .1}, .min_scale = .5},
      .flip = .5,
      .vertical_flip = .5};
  const auto dataset = std::make_shared<SaidDataset>();
  Loader loader(dataset, said(augment)), threads(dataset, said(augment, 3));
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    loader.start_epoch(epoch);
    threads.start_epoch(epoch);
    while (const std::optional<Batch> batch = loader.next()) {
      check_masks(*batch, false);
      const std::optional<Batch> same = threads.next();
      CHECK(std::ranges::equal(batch->targets().masks, same->targets().masks));
      CHECK(batch->targets().classes == same->targets().classes);
      CHECK(batch->targets().captions == same->targets().captions);
    }
  }
}

TEST_CASE("targets reader: a sample of several has the classes and captions of all") {
  LoaderOptions options = said({.mosaic = {.probability = 1}});
  options.batch_size = 1;
  Loader loader(std::make_shared<SaidDataset>(), options);
  loader.start_epoch(0);
  std::size_t most = 0;
  while (const std::optional<Batch> batch = loader.next()) {
    const std::vector<std::int32_t>& labels = batch->targets().classes.labels;
    CHECK(std::is_sorted(labels.begin(), labels.end()));
    CHECK(std::adjacent_find(labels.begin(), labels.end()) == labels.end());
    most = std::max(most, labels.size());
    const std::string& text = batch->targets().captions;
    const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
    CHECK(lines <= 4);
    CHECK(text.find("\n\n") == std::string::npos);
  }
  CHECK(most >= 6);
}

TEST_CASE("targets reader: crops for classification place masks, too") {
  LoaderOptions options = options_for(0);
  options.augment = CenterCrop{24};
  options.targets = TargetRules{};
  Loader loader(std::make_shared<SaidDataset>(), options);
  loader.start_epoch(0);
  while (const std::optional<Batch> batch = loader.next()) {
    CHECK(batch->targets().masks.size() == static_cast<std::size_t>(batch->size()) * 24 * 24);
    CHECK(batch->targets().masks[5] == (batch->samples()[0] == 3 ? 77 : batch->samples()[0]));
  }
}

TEST_CASE("targets reader: what cannot be delivered is refused") {
  const auto dataset = std::make_shared<SaidDataset>();
  const auto refused = [&](const LoaderOptions& options) {
    return kind_of_error([&] { Loader(dataset, options); });
  };
  CHECK(refused(said({.mixup = {.probability = 1}})) == ErrorKind::kUsage);
  LoaderOptions moving = said({});
  moving.pixels = parse_pixel_steps("ColorJitter(0.4), RandAugment()");
  CHECK(refused(moving) == ErrorKind::kUsage);
  {
    const auto without_masks = std::make_shared<SaidDataset>();
    std::erase_if(without_masks->targets_,
                  [](const TargetRecord& target) { return target.kind == "mask"; });
    const Loader taken(without_masks, moving);  // classes and captions stay right
  }
  dataset->targets_[1].kind = "song";
  CHECK(refused(said({})) == ErrorKind::kUnsupported);
  dataset->targets_[1].kind = "caption";
  dataset->targets_[1].name = "missing";
  CHECK(refused(said({})) == ErrorKind::kCorrupt);
  dataset->targets_[1].name = "text";
  dataset->targets_[0].classes.resize(5);  // labels go beyond
  Loader loader(dataset, said({}));
  loader.start_epoch(0);
  CHECK(kind_of_error([&] {
          while (loader.next()) {
          }
        }) == ErrorKind::kCorrupt);
}

}  // namespace packhorse::reader::test
