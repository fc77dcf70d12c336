#include "packhorse/reader/autotune.h"

#include <algorithm>
#include <cmath>

#include "base/resources.h"
#include "base/stop.h"
#include "measure/knee.h"
#include "measure/measurement.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

constexpr double kGlobalShare = 0.8;  // what a better mixture is worth
constexpr int kMostSlots = 65536;
constexpr double kInMemory = 0.99;  // with this share in memory, the order does not matter

std::vector<int> counts_up_to(int cpus) {
  std::vector<int> counts;
  for (int workers = 1; workers < cpus; workers *= 2) counts.push_back(workers);
  counts.push_back(cpus);
  return counts;
}

std::string rate_text(double images_per_s) {
  return std::to_string(std::llround(images_per_s)) + " img/s";
}

std::string counted(int count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string beside_best(const Knee& knee) {
  return "; the best was " + rate_text(knee.best_per_s) + " with " +
         std::to_string(knee.best_workers);
}

std::string reason_of(const Knee& knee, int cpus) {
  const std::string chosen = counted(knee.workers, "worker") + ": " + rate_text(knee.images_per_s);
  return chosen + (knee.workers == cpus ? ", and no more CPUs to use" : beside_best(knee));
}

double rate_of(const std::shared_ptr<const Dataset>& dataset, const LoaderOptions& options,
               double seconds) {
  MeasureOptions measured;
  measured.cache = CacheState::kAsIs;
  measured.work = options.decode ? Work::kDecode : Work::kRead;
  measured.loader = options;
  measured.max_seconds = measured.min_seconds = seconds;
  measured.stop = current_stop();
  return measure(dataset, measured).images_per_s();
}

/// With so many slots; the counts stand where those of workers stand elsewhere.
Knee tune_slots(const std::shared_ptr<const Dataset>& dataset, LoaderOptions options,
                double seconds) {
  std::vector<SweepPoint> points;
  for (const int slots : {options.slots, std::min(2 * options.slots, kMostSlots)}) {
    options.slots = slots;
    points.push_back({slots, rate_of(dataset, options, seconds)});
  }
  return find_knee(points).value_or(Knee{.workers = points.front().workers});
}

}  // namespace

Autotuned autotune(const std::shared_ptr<const Dataset>& dataset, const LoaderOptions& options,
                   double seconds) {
  Autotuned result;
  const int cpus = available_cpus();
  for (const int workers : counts_up_to(cpus)) {
    LoaderOptions tried = options;
    tried.workers = workers;
    result.curve.push_back({workers, rate_of(dataset, tried, seconds)});
  }
  const std::optional<Knee> knee = find_knee(result.curve);
  if (!knee) {
    throw Error(ErrorKind::kUsage, "there is nothing to measure: the dataset gave no batch", {},
                "use a smaller batch size");
  }
  result.workers = knee->workers;
  result.reason = reason_of(*knee, cpus);
  return result;
}

Tuned tune(const std::shared_ptr<const Dataset>& dataset, LoaderOptions options, double seconds) {
  constexpr std::size_t kSlotCounts = 2, kOrders = 2;
  if (!(seconds > 0) || !std::isfinite(seconds))
    throw Error(ErrorKind::kUsage, "tuning takes a number of seconds above 0");
  const bool orders = options.order != OrderKind::kWindow && dataset->resident_share() < kInMemory;
  const std::size_t passes =
      counts_up_to(available_cpus()).size() + kSlotCounts + (orders ? kOrders : 0);
  const double each = seconds / static_cast<double>(passes);

  const Autotuned workers = autotune(dataset, options, each);
  options.workers = workers.workers;
  const Knee slots = tune_slots(dataset, options, each);
  options.slots = slots.workers;
  Tuned tuned{options.workers, options.slots, options.order, {workers.reason}};
  tuned.reasons.push_back(counted(slots.workers, "slot") + ": " + rate_text(slots.images_per_s) +
                          beside_best(slots));
  if (!orders) return tuned;
  const double before = rate_of(dataset, options, each);
  options.order = OrderKind::kWindow;
  const double windows = rate_of(dataset, options, each);
  const bool pays = before < kGlobalShare * windows;
  if (pays) tuned.order = OrderKind::kWindow;
  tuned.reasons.push_back("order " + std::string(name_of(tuned.order)) + ": " +
                          rate_text(pays ? windows : before) + "; the other gave " +
                          rate_text(pays ? before : windows));
  return tuned;
}

}  // namespace packhorse::reader
