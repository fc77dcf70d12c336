#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "packhorse/base/error.h"
#include "packhorse/trainer/input/gpu_decode.h"
#include "packhorse/trainer/input/prefetcher.h"

namespace packhorse::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kShares = {0.0, 0.25, 0.5, 0.75, 1.0};
constexpr double kAlike = 1.03;

/// Images a second that reach the device, measured from the second batch on.
double rate_of(const std::shared_ptr<const reader::Dataset>& dataset,
               const reader::LoaderOptions& options, const Device& device, double seconds) {
  reader::Loader loader(dataset, options);
  Prefetcher batches(loader, device);
  std::int64_t images = 0;
  std::optional<Clock::time_point> begin;
  double passed = 0;
  for (std::uint64_t epoch = 0; passed < seconds; ++epoch) {
    batches.start_epoch(epoch);
    bool any = false;
    while (passed < seconds) {
      const std::optional<DeviceBatch> batch = batches.next();
      if (!batch) break;
      any = true;
      if (begin) images += batch->size;
      if (!begin) begin = Clock::now();
      passed = std::chrono::duration<double>(Clock::now() - *begin).count();
    }
    if (!any) throw Error(ErrorKind::kUsage, "there are fewer samples than one batch needs");
  }
  return static_cast<double>(images) / passed;
}

}  // namespace

GpuDecodeShare tune_gpu_decode(const std::shared_ptr<const reader::Dataset>& dataset,
                               reader::LoaderOptions options, const Device& device,
                               double seconds) {
  std::string tried;
  double best = 0, best_rate = 0;
  for (const double share : kShares) {
    options.encoded_share = share;
    const double rate = rate_of(dataset, options, device, seconds);
    tried +=
        fmt::format("{}{:.0f} img/s with {:.0f} %", tried.empty() ? "" : ", ", rate, 100 * share);
    if (rate > kAlike * best_rate) {
      best = share;
      best_rate = rate;
    }
  }
  return {best, fmt::format("{:.0f} % of the decoding on the GPU: {}", 100 * best, tried)};
}

}  // namespace packhorse::trainer
