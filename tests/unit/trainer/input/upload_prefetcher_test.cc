#include "input/upload_prefetcher.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "support/pictures.h"
#include "support/support.h"
#include "unit/trainer/input/stub_nvjpeg.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

constexpr int kSize = 32;  // its pixels have room for each of the JPEGs
constexpr std::size_t kBytes = std::size_t{3} * kSize * kSize;
constexpr std::size_t kSamples = 11;
constexpr std::int64_t kBatch = 3;

/// JPEGs, each of a size of its own, one of them progressive.
class Jpegs final : public reader::Dataset {
 public:
  Jpegs() {
    for (unsigned i = 0; i < kSamples; ++i) {
      const auto side = 9 + static_cast<int>(i);
      files_.push_back(
          test::make_jpeg(test::make_picture(side, side + 3, 3, i), {.progressive = i % 4 == 3}));
    }
  }
  std::size_t size() const override { return files_.size(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::size_t i) const override { return label_of(i); }
  std::uint64_t bytes(std::size_t i) const override { return files_[i].size(); }
  void read(std::size_t i, std::vector<std::byte>& out) const override { out = files_[i]; }
  std::string describe(std::size_t i) const override { return "picture " + std::to_string(i); }
  std::vector<std::filesystem::path> files() const override { return {}; }
  std::string format() const override { return "memory"; }
  std::string image_mode() const override { return "original"; }

  static std::int64_t label_of(std::size_t i) { return 1'000'003 * static_cast<std::int64_t>(i); }

 private:
  std::vector<test::File> files_;
  std::vector<std::string> classes_{"all"};
};

std::shared_ptr<const Jpegs> jpegs() {
  static const auto kJpegs = std::make_shared<const Jpegs>();
  return kJpegs;
}

/// The pixels that the reader makes of each sample.
const std::vector<std::vector<std::uint8_t>>& expected() {
  static const auto kExpected = [] {
    std::vector<std::vector<std::uint8_t>> all(kSamples, std::vector<std::uint8_t>(kBytes));
    reader::Decoder decoder;
    std::vector<std::byte> file;
    for (std::size_t i = 0; i < kSamples; ++i) {
      jpegs()->read(i, file);
      decoder.decode(file, reader::Resize{kSize}, reader::SampleRandom(0, 0, i), all[i]);
    }
    return all;
  }();
  return kExpected;
}

/// A batch, and what the computation found in it when it came to run.
struct Found {
  std::vector<std::uint64_t> samples;
  std::vector<std::uint8_t> images;
  std::vector<std::int64_t> labels;
};

struct Scenario {
  std::uint64_t seed;
  int depth = 3;
  double encoded_share = 0;
  int workers = 0;
  std::uint64_t first_done = 0;  ///< samples of the first epoch that are left out
  std::size_t held = 1;          ///< batches that the consumer holds
  test::StubOptions stub = {};

  static Scenario drawn(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Scenario scenario{.seed = seed};
    scenario.depth = 2 + static_cast<int>(random() % 3);
    scenario.encoded_share = static_cast<double>(random() % 3) / 2;
    scenario.workers = static_cast<int>(random() % 3);
    scenario.first_done = random() % kSamples;
    scenario.held = 1 + random() % static_cast<std::uint64_t>(scenario.depth - 1);
    scenario.stub.hardware = random() % 2 == 0;
    return scenario;
  }

  reader::LoaderOptions loader() const {
    return {.batch_size = kBatch,
            .workers = workers,
            .slots = 3,
            .augment = reader::Resize{kSize},
            .encoded_share = encoded_share,
            .seed = seed,
            .tail = reader::Tail::kKeep};
  }
};

/// Reads as a training loop does, of which the GPU does everything later.
void compute(const test::FakeGpu& gpu, const DeviceBatch& batch, std::deque<Found>& into) {
  Found& found = into.emplace_back();
  found.samples = batch.samples;
  const auto size = static_cast<std::size_t>(batch.size);
  gpu.current().get().queue([&found, images = batch.images.const_data_ptr<std::uint8_t>(),
                             labels = batch.labels.const_data_ptr<std::int64_t>(), size] {
    found.images.assign(images, images + size * kBytes);
    found.labels.assign(labels, labels + size);
  });
}

/// Whether a batch has the labels, and the pixels but for the rounding of another decoder.
bool is_right(const Found& found) {
  for (std::size_t place = 0; place < found.samples.size(); ++place) {
    const auto sample = static_cast<std::size_t>(found.samples[place]);
    if (found.labels[place] != Jpegs::label_of(sample)) return false;
    for (std::size_t i = 0; i < kBytes; ++i) {
      if (std::abs(found.images[place * kBytes + i] - expected()[sample][i]) > 1) return false;
    }
  }
  return true;
}

struct Outcome {
  std::size_t wrong = 0, batches = 0, errors = 0, decoded = 0;
  std::vector<std::string> blamed;
};

template <class Gpu>
Outcome run(const Scenario& scenario) {
  Outcome outcome;
  test::FakeMachine machine(scenario.seed);
  const test::StubNvJpeg nvjpeg(machine, scenario.stub);
  std::deque<Found> found;
  {
    std::mt19937_64 random(scenario.seed);
    reader::Loader loader(jpegs(), scenario.loader());
    const Gpu gpu(machine);
    UploadPrefetcher<Gpu> batches(loader, gpu, scenario.depth);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      try {
        batches.start_epoch(epoch, epoch == 0 ? scenario.first_done : 0);
        std::deque<DeviceBatch> held;
        while (std::optional<DeviceBatch> batch = batches.next()) {
          compute(gpu, *batch, found);
          held.push_back(std::move(*batch));
          while (held.size() > random() % (scenario.held + 1)) {
            if (random() % 2 == 0) std::swap(held.front(), held.back());
            held.pop_front();
          }
          if (random() % 16 == 0) break;
        }
      } catch (const Error&) {
        ++outcome.errors;
      }
    }
  }
  machine.stream(0).wait_for_all();
  outcome.blamed = machine.blamed();
  outcome.decoded = nvjpeg.decoded();
  outcome.batches = found.size();
  outcome.wrong = found.size() - static_cast<std::size_t>(std::ranges::count_if(found, is_right));
  return outcome;
}

/// Seeds to try: $PACKHORSE_SEEDS, for longer runs than tests are.
std::uint64_t seeds() {
  const char* const text = std::getenv("PACKHORSE_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1000;
}

}  // namespace

TEST_CASE("upload: what the GPU computes on is the batch, however late its streams are") {
  std::size_t decoded = 0;
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    CAPTURE(seed);
    const Scenario scenario = Scenario::drawn(seed);
    const Outcome outcome = run<test::DecodingGpu>(scenario);
    CHECK(outcome.batches > 0);
    decoded += outcome.decoded;
    CHECK(outcome.errors == 0);
    CHECK(outcome.blamed == std::vector<std::string>{});
    CHECK_MESSAGE(outcome.wrong == 0, outcome.wrong, " of ", outcome.batches, " are wrong");
  }
  CHECK(decoded > seeds());
}

TEST_CASE("upload: a decoder that fails ends the epoch, and nothing reads slots that went back") {
  for (std::uint64_t seed = 1; seed <= seeds() / 2; ++seed) {
    CAPTURE(seed);
    Scenario scenario = Scenario::drawn(seed);
    scenario.encoded_share = seed % 2 == 0 ? 1 : 0.5;
    scenario.stub.fails_at = 1 + static_cast<int>(seed % 4);
    scenario.stub.refuses_progressive = false;
    const Outcome outcome = run<test::DecodingGpu>(scenario);
    CHECK(outcome.errors <= 1);
    CHECK(outcome.blamed == std::vector<std::string>{});
    CHECK(outcome.wrong == 0);
  }
}

TEST_CASE("upload: one prefetcher after the other needs no more memory than one") {
  test::FakeMachine machine(7);
  const Scenario scenario{.seed = 7};
  std::size_t first = 0;
  for (int pass = 0; pass < 4; ++pass) {
    reader::Loader loader(jpegs(), scenario.loader());
    UploadPrefetcher<test::DecodingGpu> batches(loader, test::DecodingGpu(machine), 3);
    batches.start_epoch(0, 0);
    while (batches.next()) {
    }
    if (pass == 0) first = machine.allocated();
  }
  CHECK(machine.allocated() == first);
}
