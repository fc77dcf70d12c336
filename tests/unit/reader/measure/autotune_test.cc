#include "packhorse/reader/autotune.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/resources.h"
#include "base/stop.h"
#include "packhorse/base/error.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

TEST_CASE("autotune: measures one worker up to all CPUs, and says why it took which") {
  const Autotuned tuned =
      autotune(make_dataset(40), {.batch_size = 5, .augment = RandomResizedCrop{.size = 24}}, 0.02);
  REQUIRE(tuned.curve.front().workers == 1);
  CHECK(tuned.curve.back().workers == available_cpus());
  CHECK(tuned.workers >= 1);
  CHECK(tuned.workers <= available_cpus());
  CHECK(tuned.reason.find(std::to_string(tuned.workers) + " worker") == 0);
  CHECK(tuned.reason.find("img/s") != std::string::npos);
}

TEST_CASE("autotune: a dataset that fills no batch is refused") {
  CHECK(kind_of_error([] { autotune(make_dataset(3), {.batch_size = 5}, 0.01); }) ==
        ErrorKind::kUsage);
}

TEST_CASE("tune: chooses workers, slots and an order, and says why") {
  const LoaderOptions options{.batch_size = 5, .slots = 3, .augment = Resize{8}};
  const Tuned tuned = tune(make_dataset(40), options, 0.1);
  CHECK(tuned.workers >= 1);
  CHECK(tuned.workers <= available_cpus());
  CHECK((tuned.slots == 3 || tuned.slots == 6));
  CHECK(tuned.order == OrderKind::kGlobal);  // all of it is in memory
  REQUIRE(tuned.reasons.size() == 2);
  CHECK(tuned.reasons[1].find(std::to_string(tuned.slots) + " slot") == 0);
}

TEST_CASE("tune: the order is tried where the dataset is not in memory, and windows pay") {
  /// A storage whose files are far apart, except for neighbours.
  class Far : public MemoryDataset {
   public:
    Far() : MemoryDataset(make_dataset(64)->contents()) {}
    double resident_share() const override { return 0; }
    void read(std::size_t i, std::vector<std::byte>& out) const override {
      const std::size_t before = last_.exchange(i);
      if (i < before || i > before + 8) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      MemoryDataset::read(i, out);
    }

   private:
    mutable std::atomic<std::size_t> last_{0};
  };
  const auto far = std::make_shared<Far>();
  const LoaderOptions options{.batch_size = 4, .augment = Resize{8}};
  const Tuned tuned = tune(far, options, 0.5);
  REQUIRE(tuned.reasons.size() == 3);
  CHECK(tuned.reasons[2].find("order " + std::string(name_of(tuned.order)) + ": ") == 0);
  LoaderOptions windows = options;
  windows.order = OrderKind::kWindow;
  CHECK(tune(far, windows, 0.1).reasons.size() == 2);
}

TEST_CASE("tune: nonsense is refused, and a stop is obeyed") {
  const LoaderOptions options{.batch_size = 4, .augment = Resize{8}};
  for (const double seconds : {0.0, -1.0, std::nan(""), HUGE_VAL})
    CHECK(kind_of_error([&] { tune(make_dataset(8), options, seconds); }) == ErrorKind::kUsage);
  std::stop_source stop;
  const StopScope scope(stop.get_token());
  stop.request_stop();
  CHECK(kind_of_error([&] { tune(make_dataset(8), options, 100); }) == ErrorKind::kInterrupted);
}

}  // namespace packhorse::reader::test
