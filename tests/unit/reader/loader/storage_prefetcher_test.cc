#include "loader/storage_prefetcher.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "dataset/simulated_storage.h"
#include "packhorse/reader/loader.h"
#include "support/made_dataset.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

/// Samples of 1000 bytes, none of them in memory. Records what was requested.
class SlowDataset final : public MemoryDataset {
 public:
  explicit SlowDataset(std::size_t samples)
      : MemoryDataset(std::vector<File>(samples, File(1000))) {}
  double resident_share() const override { return resident; }
  std::uint64_t prefetch(std::span<const std::uint64_t> samples) const override {
    const std::scoped_lock lock(mutex_);
    sorted_ = sorted_ && std::is_sorted(samples.begin(), samples.end());
    asked_.insert(asked_.end(), samples.begin(), samples.end());
    return 1000 * samples.size();
  }
  std::vector<std::uint64_t> asked() const {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }
  bool sorted() const { return sorted_; }
  double resident = 0;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::uint64_t> asked_;
  mutable bool sorted_ = true;
};

/// Reports samples of 300 kB each, in files of 140.
class LargeSamples final : public MemoryDataset {
 public:
  explicit LargeSamples(std::size_t samples) : MemoryDataset(std::vector<File>(samples, File(1))) {}
  std::uint64_t bytes(std::size_t) const override { return 300'000; }
  std::size_t file_of(std::size_t i) const override { return i / 140; }
  std::vector<std::filesystem::path> files() const override { return {"a", "b"}; }
};

/// Waits until at least `n` samples were requested.
std::vector<std::uint64_t> wait_for(const SlowDataset& dataset, std::size_t n) {
  while (dataset.asked().size() < n) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // for unwanted requests to show
  return dataset.asked();
}

}  // namespace

TEST_CASE("prefetcher: keeps its distance to the producers, in the order of the epoch") {
  const SlowDataset dataset(1000);
  const Order order(1000, {.seed = 3, .batch_size = 10});
  Prefetcher prefetcher(dataset, order, 100'000, {});  // 100 samples
  CHECK(wait_for(dataset, 100).size() <= 100 + 25);
  prefetcher.reached(400);
  const std::vector<std::uint64_t> asked = wait_for(dataset, 500);
  CHECK(asked.size() <= 500 + 25);
  const std::set<std::uint64_t> all(asked.begin(), asked.end());
  CHECK(all.size() == asked.size());
  for (std::uint64_t ticket = 0; ticket < 475; ++ticket) CHECK(all.contains(order.sample(ticket)));
  for (std::uint64_t ticket = 550; ticket < 1000; ++ticket)
    CHECK_FALSE(all.contains(order.sample(ticket)));
  CHECK(dataset.sorted());
}

TEST_CASE("prefetcher: what is drawn by weight is asked for as it comes, again if it comes again") {
  const SlowDataset dataset(200);
  std::vector<double> some(200);
  for (std::size_t i = 0; i < 10; ++i) some[i * 20] = 1;
  const Sampling sampling{.by = Sampling::By::kSamples,
                          .weights = std::make_shared<std::vector<double>>(some)};
  const Order order(std::make_shared<Sampler>(dataset, sampling), {.seed = 3, .batch_size = 10});
  std::vector<std::uint64_t> expected;
  for (std::uint64_t ticket = 0; ticket < 200; ++ticket) expected.push_back(order.sample(ticket));
  Prefetcher prefetcher(dataset, order, 1'000'000, {});
  std::vector<std::uint64_t> asked = wait_for(dataset, 200);
  std::ranges::sort(asked);
  std::ranges::sort(expected);
  CHECK(asked == expected);
  CHECK(dataset.sorted());
}

TEST_CASE("prefetcher: a window is asked for while the one before is worked on") {
  const SlowDataset dataset(1000);
  const Order order(1000, {.kind = OrderKind::kWindow,
                           .runs = std::make_shared<Runs>(dataset, 10'000),
                           .runs_per_window = 20,  // 200 samples
                           .batch_size = 10});
  Prefetcher prefetcher(dataset, order, 1000, {});
  CHECK(wait_for(dataset, 250).size() == 250);  // a window, and the first quarter of the next
  prefetcher.reached(104);
  CHECK(wait_for(dataset, 350).size() == 350);
  prefetcher.reached(192);
  CHECK(wait_for(dataset, 400).size() == 400);
}

TEST_CASE("prefetcher: a window's runs are one request each") {
  const auto base = std::make_shared<LargeSamples>(280);
  const auto runs = std::make_shared<Runs>(*base, 4u << 20);
  const auto storage = std::make_shared<SimulatedStorage>(parse_storage("rate=100GB,depth=1"));
  const auto dataset = on_simulated_storage(base, storage);
  const Order order(280, {.kind = OrderKind::kWindow,
                          .runs = runs,
                          .runs_per_window = 5,
                          .seed = 3,
                          .batch_size = 10});
  Prefetcher prefetcher(*dataset, order, 1u << 30, {});
  prefetcher.reached(272);
  while (prefetcher.bytes() < 280 * 300'000) std::this_thread::yield();
  CHECK(storage->requests() == runs->size());
}

TEST_CASE("prefetcher: in a loader every sample is asked for once, unless all is in memory") {
  for (const OrderKind kind : {OrderKind::kGlobal, OrderKind::kWindow, OrderKind::kSequential}) {
    for (const bool resident : {false, true}) {
      const auto dataset = std::make_shared<SlowDataset>(500);
      dataset->resident = resident ? 1 : 0;
      LoaderOptions options{.batch_size = 10, .workers = 2, .decode = false, .order = kind};
      options.run_bytes = 10'000;
      options.window_bytes = 100'000;
      options.prefetch_bytes = 50'000;
      Loader loader(dataset, options);
      loader.start_epoch(0);
      while (loader.next()) {
      }
      if (resident) {
        CHECK(dataset->asked().empty());
        CHECK(loader.counters().prefetched_bytes == 0);
        continue;
      }
      std::vector<std::uint64_t> asked = wait_for(*dataset, 500);
      std::sort(asked.begin(), asked.end());
      CHECK(std::adjacent_find(asked.begin(), asked.end()) == asked.end());
      // Bytes are counted after they were asked for.
      while (loader.counters().prefetched_bytes < 500'000) std::this_thread::yield();
      CHECK(loader.counters().prefetched_bytes == 500'000);
    }
  }
}

TEST_CASE("packed dataset: neighbours are asked for in one go") {
  const TemporaryDirectory directory;
  packhorse::test::MadeDataset made{.shard_samples = 50};
  for (std::size_t i = 0; i < 100; ++i)
    made.rows.push_back({key_of(i), 0, std::string(5000, static_cast<char>(i))});
  made.write(directory / "d");
  const auto dataset = Dataset::open(directory / "d");
  CHECK(dataset->file_of(49) != dataset->file_of(50));
  const std::vector<std::uint64_t> one = {7};
  CHECK(dataset->prefetch(one) == 5000);
  const std::vector<std::uint64_t> both_shards = {48, 49, 50, 51};
  const std::uint64_t asked = dataset->prefetch(both_shards);
  CHECK(asked > 4 * 5000);  // including the bytes between two samples
  CHECK(asked < 4 * 5000 + 8192);
  dataset->release();
  CHECK(dataset->resident_share() >= 0);
}

}  // namespace packhorse::reader::test
