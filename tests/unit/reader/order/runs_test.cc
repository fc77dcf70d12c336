#include "order/runs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "order/order.h"
#include "packhorse/base/error.h"
#include "unit/reader/fixtures.h"
#include "unit/reader/order/samples.h"

namespace packhorse::reader::test {

namespace {

/// Samples of 10 bytes, `per_file` of them in each file, sorted by class.
class EvenDataset final : public MemoryDataset {
 public:
  EvenDataset(std::size_t samples, std::size_t per_file)
      : MemoryDataset(std::vector<File>(samples, File(10))), per_file_(per_file) {}
  std::size_t file_of(std::size_t i) const override { return i / per_file_; }
  std::int64_t label(std::size_t i) const override { return static_cast<std::int64_t>(i) / 10; }

 private:
  std::size_t per_file_;
};

OrderOptions windows_of(const Dataset& dataset, std::uint64_t run_bytes, std::size_t runs,
                        std::uint64_t epoch = 0) {
  return {.kind = OrderKind::kWindow,
          .runs = std::make_shared<Runs>(dataset, run_bytes),
          .runs_per_window = runs,
          .seed = 5,
          .epoch = epoch};
}

std::vector<std::uint64_t> tickets_of(const Order& order) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t ticket = 0; ticket < order.size(); ++ticket)
    samples.push_back(order.sample(ticket));
  return samples;
}

}  // namespace

TEST_CASE("runs: end with their bytes, with a file and with the dataset") {
  const EvenDataset dataset(23, 10);
  const Runs runs(dataset, 40);
  std::vector<std::uint64_t> ends;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CHECK(runs.begin(i) == (i == 0 ? 0 : ends.back()));
    ends.push_back(runs.end(i));
  }
  CHECK(ends == std::vector<std::uint64_t>{4, 8, 10, 14, 18, 20, 23});
  CHECK(Runs(EvenDataset(0, 1), 40).size() == 0);
}

TEST_CASE("runs: of a dataset of many files are cut by what is known of the files") {
  struct ManyFiles final : MemoryDataset {
    ManyFiles() : MemoryDataset(std::vector<File>(23, File(10))) {}
    std::uint64_t bytes(std::size_t) const override { throw std::logic_error("opens a file"); }
    std::vector<Extent> extents() const override { return {{10, 100}, {0, 7}, {11, 79}, {2, 900}}; }
  };
  const ManyFiles dataset;
  const Runs runs(dataset, 40);
  std::vector<std::uint64_t> ends;
  for (std::size_t i = 0; i < runs.size(); ++i) ends.push_back(runs.end(i));
  CHECK(ends == std::vector<std::uint64_t>{3, 6, 10, 15, 21, 22, 23});
  CHECK(sorted(tickets_of(Order(23, windows_of(dataset, 40, 2)))) == up_to(23));
}

TEST_CASE("window order: every sample once, each epoch otherwise, whatever the window") {
  const EvenDataset dataset(123, 50);
  for (const std::size_t runs : {1u, 2u, 5u, 100u}) {
    const std::vector<std::uint64_t> first = tickets_of(Order(123, windows_of(dataset, 70, runs)));
    CHECK(sorted(first) == up_to(123));
    CHECK(first == tickets_of(Order(123, windows_of(dataset, 70, runs))));
    CHECK(first != tickets_of(Order(123, windows_of(dataset, 70, runs, 1))));
  }
}

TEST_CASE("window order: a window holds whole runs, as many as asked for") {
  const EvenDataset dataset(100, 100);
  const Order order(100, windows_of(dataset, 100, 2));  // runs of 10 samples
  for (std::uint64_t ticket = 0; ticket < 100; ticket += 20) {
    std::set<std::uint64_t> runs;
    for (std::uint64_t i = 0; i < 20; ++i) runs.insert(order.sample(ticket + i) / 10);
    CHECK(runs.size() == 2);
    CHECK(order.window_end(ticket) == ticket + 20);
    CHECK(order.window_end(ticket + 19) == ticket + 20);
  }
}

TEST_CASE("window order: the ranks of any world share one order, and go on from anywhere") {
  const EvenDataset dataset(96, 40);
  const std::vector<std::uint64_t> whole = tickets_of(Order(96, windows_of(dataset, 90, 3)));
  for (const std::int64_t world : {1, 2, 4}) {
    for (const std::uint64_t done : {0u, 24u, 48u}) {
      std::vector<std::uint64_t> together(96 - done);
      for (std::int64_t rank = 0; rank < world; ++rank) {
        OrderOptions options = windows_of(dataset, 90, 3);
        options.world = world;
        options.rank = rank;
        options.batch_size = 3;
        options.done = done;
        const Order order(96, options);
        const auto w = static_cast<std::uint64_t>(world), r = static_cast<std::uint64_t>(rank);
        for (std::uint64_t t = 0; t < order.size(); ++t) together[t * w + r] = order.sample(t);
      }
      CHECK(std::equal(together.begin(), together.end(),
                       whole.begin() + static_cast<std::ptrdiff_t>(done)));
    }
  }
}

TEST_CASE("window order: padding begins a window of its own") {
  const EvenDataset dataset(10, 10);
  OrderOptions options = windows_of(dataset, 30, 2);
  options.batch_size = 4;
  options.tail = Tail::kPad;
  const Order order(10, options);
  CHECK(order.size() == 12);
  for (std::uint64_t ticket = 0; ticket < order.size();) {
    const std::uint64_t end = order.window_end(ticket).value();
    REQUIRE(end > ticket);
    ticket = end;
  }
}

TEST_CASE("window order: without the dataset's runs it is refused") {
  const EvenDataset dataset(10, 10);
  CHECK(kind_of_error([] { Order(10, {.kind = OrderKind::kWindow}); }) == ErrorKind::kUsage);
  CHECK(kind_of_error([&] { Order(11, windows_of(dataset, 30, 2)); }) == ErrorKind::kUsage);
}

TEST_CASE("shuffle quality: global is 1, sequential the worst, larger windows are better") {
  const EvenDataset dataset(10'000, 1000);  // sorted by class: the hardest case
  const auto quality = [&](OrderOptions options) {
    options.batch_size = 50;
    return shuffle_quality(dataset, Order(10'000, options), 200);
  };
  const ShuffleQuality global = quality({.seed = 1});
  const ShuffleQuality none = quality({.kind = OrderKind::kSequential});
  const ShuffleQuality narrow = quality(windows_of(dataset, 100, 10));
  const ShuffleQuality wide = quality(windows_of(dataset, 100, 200));
  CHECK(global.neighbours == doctest::Approx(1).epsilon(0.25));
  CHECK(global.classes == doctest::Approx(1).epsilon(0.02));
  CHECK(none.neighbours == doctest::Approx(10'000.0 / 50).epsilon(0.05));
  CHECK(none.classes < 0.15);
  CHECK(wide.neighbours < narrow.neighbours / 5);
  CHECK(wide.classes > 0.9);
  CHECK(narrow.classes < 0.3);
}

}  // namespace packhorse::reader::test
