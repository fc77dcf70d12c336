#include "dataset/simulated_storage.h"

#include <doctest/doctest.h>

#include "measure/measurement.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

using Clock = SimulatedStorage::Clock;
using std::chrono::milliseconds;

constexpr Clock::time_point kStart{std::chrono::seconds(1000)};

std::int64_t ms(Clock::time_point at) {
  return std::chrono::duration_cast<milliseconds>(at - kStart).count();
}

/// Three files of ten samples each, like shards.
class Shards : public MemoryDataset {
 public:
  using MemoryDataset::MemoryDataset;
  std::size_t file_of(std::size_t i) const override { return i / 10; }
  std::vector<std::filesystem::path> files() const override { return {"a", "b", "c"}; }
};

std::shared_ptr<Shards> make_shards() {
  return std::make_shared<Shards>(make_dataset(30)->contents());
}

/// Each sample in a file of its own, as in a folder.
class Folder : public MemoryDataset {
 public:
  using MemoryDataset::MemoryDataset;
  bool one_file_a_sample() const override { return true; }
};

}  // namespace

TEST_CASE("simulated storage: one place makes requests wait for each other") {
  SimulatedStorage disk(parse_storage("access=10ms,open=5ms,depth=1"));
  CHECK(ms(disk.request_at(kStart, 100, /*opens=*/true)) == 15);
  CHECK(ms(disk.request_at(kStart, 100, false)) == 25);
  CHECK(ms(disk.request_at(kStart + milliseconds(100), 100, false)) == 110);
  CHECK(disk.requests() == 3);
  CHECK(disk.bytes() == 300);
}

TEST_CASE("simulated storage: places overlap their delays, and share the line") {
  SimulatedStorage disk(parse_storage("access=10ms,rate=1kB,depth=2"));  // 1 ms a byte
  CHECK(ms(disk.request_at(kStart, 4, false)) == 14);
  CHECK(ms(disk.request_at(kStart, 4, false)) == 18);  // its delay was over at 10, the line at 14
  CHECK(ms(disk.request_at(kStart, 1, false)) == 25);  // a place at 14, then 10 of delay, then 1
}

TEST_CASE("simulated storage: without a limit of places only the line is shared") {
  SimulatedStorage disk(parse_storage("access=10ms"));
  for (int i = 0; i < 100; ++i) CHECK(ms(disk.request_at(kStart, 1 << 20, false)) == 10);
}

TEST_CASE("simulated storage: presets and delays are told apart, and what is neither is refused") {
  CHECK(parse_storage("hdd").depth == 1);
  CHECK(parse_storage("hdd").name == "hdd");
  const StorageModel changed = parse_storage("nfs,open=20us");
  CHECK(changed.open_s == doctest::Approx(20e-6));
  CHECK(changed.bytes_per_s == parse_storage("nfs").bytes_per_s);
  CHECK(parse_storage("rate=2.5MB").bytes_per_s == doctest::Approx(2.5e6));
  for (const char* text :
       {"", "disk", "open", "open=5", "open=-1ms", "open=5ms,", "rate=1ms", "depth=two", "depth=-1",
        "5ms", "nfs,hdd", "speed=1MB", "open=infs", "open=nans", "access=1e30s", "rate=0.001B"}) {
    CAPTURE(text);
    CHECK(kind_of_error([&] { parse_storage(text); }) == ErrorKind::kUsage);
  }
}

TEST_CASE("simulated storage: the bytes and what is known of them stay the same") {
  const auto base = make_shards();
  const auto slow =
      on_simulated_storage(base, std::make_shared<SimulatedStorage>(parse_storage("access=10us")));
  REQUIRE(slow->size() == base->size());
  std::vector<std::byte> a, b;
  for (std::size_t i = 0; i < base->size(); ++i) {
    base->read(i, a);
    slow->read(i, b);
    CHECK(a == b);
    CHECK(slow->label(i) == base->label(i));
    CHECK(slow->bytes(i) == base->bytes(i));
  }
  CHECK(slow->classes() == base->classes());
}

TEST_CASE("simulated storage: what lies together is one request, and what has come is not asked") {
  const auto storage =
      std::make_shared<SimulatedStorage>(parse_storage("access=1us,rate=100GB,depth=1"));
  const auto slow = on_simulated_storage(make_shards(), storage);
  CHECK(slow->resident_share() == 0);
  const std::vector<std::uint64_t> samples = {1, 2, 3, 9, 10, 11};
  CHECK(slow->prefetch(samples) > 0);
  CHECK(storage->requests() == 2);  // small samples between them are read along; two files
  CHECK(slow->resident_share() == doctest::Approx(6.0 / 30));
  std::vector<std::byte> out;
  for (const std::uint64_t sample : samples) slow->read(sample, out);
  CHECK(storage->requests() == 2);
  slow->read(20, out);
  CHECK(storage->requests() == 3);
  CHECK(slow->prefetch(samples) == 0);
  slow->release();
  slow->read(1, out);
  CHECK(storage->requests() == 4);
}

TEST_CASE("simulated storage: a gap is read along where that takes no longer than an access") {
  struct Case {
    const char* storage;
    std::uint64_t gap;
  };
  for (const Case& c : {Case{"access=1ms,rate=100MB,depth=1", 100'000},
                        Case{"access=1ms,rate=100MB,depth=4", 25'000},  // four overlap
                        Case{"access=0.1ms,rate=1MB,depth=1", 100},     // the line is the limit
                        Case{"rate=1MB,depth=1", 0},                    // a request costs nothing
                        Case{"access=1ms,rate=100MB", 0},               // all overlap
                        Case{"access=1ms,depth=1", kJoinedBytes},       // bytes cost nothing
                        Case{"access=1s,rate=1GB,depth=1", kJoinedBytes}, Case{"hdd", 2'160'000}}) {
    CAPTURE(c.storage);
    CHECK(joined_gap(parse_storage(c.storage)) == c.gap);
  }
}

TEST_CASE("simulated storage: a slow line carries no byte that was not asked for") {
  const auto base = make_shards();
  const std::vector<std::uint64_t> samples = {1, 3, 5, 6, 9};
  std::uint64_t wanted = 0;
  for (const std::uint64_t sample : samples) wanted += base->bytes(sample);
  const auto storage = std::make_shared<SimulatedStorage>(parse_storage("rate=100MB,depth=8"));
  on_simulated_storage(base, storage)->prefetch(samples);
  CHECK(storage->bytes() == wanted);
  CHECK(storage->requests() == 4);
}

TEST_CASE("simulated storage: a folder opens a file for each sample, and does not prefetch") {
  const auto storage = std::make_shared<SimulatedStorage>(parse_storage("open=2ms,depth=1"));
  const auto slow =
      on_simulated_storage(std::make_shared<Folder>(make_dataset(12)->contents()), storage);
  CHECK(slow->prefetch(std::vector<std::uint64_t>{1, 2, 3}) == 0);
  MeasureOptions options{.work = Work::kRead, .cache = CacheState::kAsIs};
  options.loader = {.batch_size = 6, .workers = 3, .augment = RandomResizedCrop{.size = 24}};
  const Measurement pass = measure(slow, options);
  CHECK(pass.images == 12);
  CHECK(storage->requests() == 12);
  CHECK(pass.seconds >= 0.024);  // 12 openings of 2 ms, one at a time: sleeps are never too short
}

}  // namespace packhorse::reader::test
