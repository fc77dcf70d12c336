#include "packhorse/reader/autotune.h"

#include <cmath>

#include "base/resources.h"
#include "measure/knee.h"
#include "measure/measurement.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

std::vector<int> counts_up_to(int cpus) {
  std::vector<int> counts;
  for (int workers = 1; workers < cpus; workers *= 2) counts.push_back(workers);
  counts.push_back(cpus);
  return counts;
}

std::string rate_text(double images_per_s) {
  return std::to_string(std::llround(images_per_s)) + " img/s";
}

std::string reason_of(const Knee& knee, int cpus) {
  const std::string chosen = std::to_string(knee.workers) +
                             (knee.workers == 1 ? " worker: " : " workers: ") +
                             rate_text(knee.images_per_s);
  if (knee.workers == cpus) return chosen + ", and no more CPUs to use";
  return chosen + "; the best was " + rate_text(knee.best_per_s) + " with " +
         std::to_string(knee.best_workers);
}

}  // namespace

Autotuned autotune(const std::shared_ptr<const Dataset>& dataset, const LoaderOptions& options,
                   double seconds) {
  Autotuned result;
  const int cpus = available_cpus();
  for (const int workers : counts_up_to(cpus)) {
    MeasureOptions measured;
    measured.cache = CacheState::kAsIs;
    measured.work = options.decode ? Work::kDecode : Work::kRead;
    measured.loader = options;
    measured.loader.workers = workers;
    measured.max_seconds = measured.min_seconds = seconds;
    result.curve.push_back({workers, measure(dataset, measured).images_per_s()});
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

}  // namespace packhorse::reader
