#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "input/gpu_decode.h"
#include "input/prefetcher.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kShares = {0.0, 0.25, 0.5, 0.75, 1.0};
constexpr int kRounds = 3;
constexpr double kAlike = 1.03;

/// Images a second that have reached the device, measured from the second batch on.
double rate_of(const std::shared_ptr<const reader::Dataset>& dataset,
               const reader::LoaderOptions& options, const Device& device, double seconds) {
  reader::Loader loader(dataset, options);
  Prefetcher batches(loader, device);
  std::int64_t images = 0;
  std::optional<Clock::time_point> begin;
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - *begin).count(); };
  for (std::uint64_t epoch = 0; !begin || passed() < seconds; ++epoch) {
    batches.start_epoch(epoch);
    bool any = false;
    while (!begin || passed() < seconds) {
      const std::optional<DeviceBatch> batch = batches.next();
      if (!batch) break;
      any = true;
      if (begin) {
        images += batch->size;
      } else {
        wait_for(device);
        begin = Clock::now();
      }
    }
    if (!any) throw Error(ErrorKind::kUsage, "there are fewer samples than one batch needs");
  }
  wait_for(device);  // the current stream waits for the copies of all batches
  return static_cast<double>(images) / passed();
}

double median_of(std::vector<double> rates) {
  std::ranges::sort(rates);
  return rates[rates.size() / 2];
}

}  // namespace

GpuDecodeShare choose_share(const std::vector<ShareRates>& tried) {
  std::string told;
  double most = 0;
  for (const ShareRates& one : tried) {
    const double rate = median_of(one.rates);
    most = std::max(most, rate);
    told += fmt::format("{}{:.0f} img/s with {:.0f} %", told.empty() ? "" : ", ", rate,
                        100 * one.share);
  }
  const auto chosen = std::ranges::find_if(
      tried, [&](const ShareRates& one) { return kAlike * median_of(one.rates) >= most; });
  return {chosen->share,
          fmt::format("{:.0f} % of the decoding on the GPU: {}", 100 * chosen->share, told)};
}

// In rounds, so that what becomes faster or slower meanwhile (caches, other programs, a GPU's
// clock) does so for all shares. The first round fills the caches and starts nvJPEG.
GpuDecodeShare tune_gpu_decode(const std::shared_ptr<const reader::Dataset>& dataset,
                               reader::LoaderOptions options, const Device& device,
                               double seconds) {
  std::vector<ShareRates> tried;
  for (const double share : kShares) tried.push_back({share, {}});
  for (int round = 0; round <= kRounds; ++round) {
    for (ShareRates& one : tried) {
      options.encoded_share = one.share;
      const double rate = rate_of(dataset, options, device, seconds / kRounds);
      if (round > 0) one.rates.push_back(rate);
    }
  }
  return choose_share(tried);
}

}  // namespace packhorse::trainer
