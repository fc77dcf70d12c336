#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/permutation.h"
#include "common/program.h"

/// Loops that do a loader's work without a loader, which its figures are compared with.
namespace packhorse::bench {

struct LoopOptions {
  int threads = 2;
  double min_seconds = 1;  ///< whole epochs until then
  bool warm_up = true;     ///< with an epoch that is not timed before them
};

struct LoopCost {
  std::uint64_t samples = 0;  ///< of an epoch
  std::uint64_t images = 0;   ///< of all timed epochs
  double seconds = 0, cpu_s = 0;
};

double cpu_seconds();

/// What the programs of this bench print: {"samples", "images", "seconds", "images_per_s",
/// "cpu_s"}.
program::Json cost_json(const LoopCost& cost);

/// Calls `workers[thread](place, sample, epoch)` for all `samples`, shuffled anew in each epoch, a
/// thread for each worker.
template <class Worker>
LoopCost run_epochs(std::uint64_t samples, const LoopOptions& options,
                    std::vector<Worker>& workers) {
  using Clock = std::chrono::steady_clock;
  const auto one_epoch = [&](std::uint64_t epoch) {
    const Permutation order(samples, mix64(epoch));
    std::atomic<std::uint64_t> next{0};
    std::vector<std::jthread> threads;
    for (Worker& worker : workers) {
      threads.emplace_back([&] {
        for (std::uint64_t place = next++; place < samples; place = next++)
          worker(place, order(place), epoch);
      });
    }
  };
  if (options.warm_up) one_epoch(0);
  LoopCost cost{.samples = samples};
  const double cpu_before = cpu_seconds();
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t epoch = 1; cost.seconds < options.min_seconds || epoch == 1; ++epoch) {
    one_epoch(epoch);
    cost.images += samples;
    cost.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  cost.cpu_s = cpu_seconds() - cpu_before;
  return cost;
}

std::unique_ptr<program::Command> make_copy_loop();    ///< `copy`
std::unique_ptr<program::Command> make_pixels_loop();  ///< `pixels`
std::unique_ptr<program::Command> make_open();         ///< `open`
std::unique_ptr<program::Command> make_draw_loop();    ///< `draws`

}  // namespace packhorse::bench
