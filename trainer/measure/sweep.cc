#include "measure/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/resources.h"
#include "measure/knee.h"
#include "measure/measure.h"
#include "measure/passes.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

std::vector<int> workers_to_try(const SweepOptions& options) {
  std::vector<int> workers = options.workers;
  if (workers.empty())
    for (int n = 1; n <= 2 * available_cpus(); n *= 2) workers.push_back(n);
  std::ranges::sort(workers);
  workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
  return workers;
}

/// The share of the CPUs that this process used.
double busy_share(const SweepSetting& setting, int cpus) {
  return spread_of(
             setting.passes,
             [&](const Pass& pass) { return pass.cpu_s / (pass.seconds * std::max(1, cpus)); })
      .median;
}

/// What would shorten the waiting, as far as the figures tell.
const char* remedy_text(double busy, bool from_storage) {
  constexpr double kBusy = 0.9;
  if (busy >= kBusy) return ": more CPUs or smaller pictures would help";
  return from_storage ? ": faster storage or smaller pictures may help" : "";
}

}  // namespace

double SweepSetting::wait_share() const {
  return spread_of(passes, [](const Pass& pass) { return pass.wait_s / pass.seconds; }).median;
}

SweepReport sweep(const SweepOptions& options, const std::function<void(const std::string&)>& note,
                  std::stop_token stop) {
  options.measure.validate();
  SweepReport report;
  const auto dataset = reader::Dataset::open(options.data, options.measure.split);
  report.input = describe_input(options.data, *dataset);
  report.input.name = input_name(*dataset);
  report.recipe = recipe_for(options.measure, *dataset);
  report.device = device_text(options.measure);
  report.condition = options.condition;
  if (dataset->from_afar()) {
    if (options.condition.kind != Condition::Kind::kWarm)
      throw Error(ErrorKind::kUsage, "what lies at a URL is neither cold nor simulated",
                  options.data, "leave out `cold=` and `storage=`, or sweep a copy on the disk");
    report.condition = {.kind = Condition::Kind::kRemote};
  }
  report.cpus = available_cpus();
  report.memory_available = available_memory();

  const auto side = static_cast<std::uint64_t>(report.recipe.image_size);
  const std::uint64_t batch_bytes =
      static_cast<std::uint64_t>(report.recipe.batch_size) * side * side * 3;
  for (const int workers : workers_to_try(options)) {
    for (const int slots : options.slots) {
      const std::uint64_t bytes = batch_bytes * static_cast<std::uint64_t>(slots);
      if (bytes > report.memory_available / 4) {
        report.left_out.push_back(
            fmt::format("{} workers with {} batches: the batches would take {} of the {} MiB of "
                        "available memory",
                        workers, slots, bytes >> 20, report.memory_available >> 20));
        continue;
      }
      report.settings.push_back(
          {.workers = workers, .slots = slots, .passes = {}, .batches_bytes = bytes});
    }
  }
  if (report.settings.empty()) {
    throw Error(ErrorKind::kUsage, "no setting fits into memory: " + report.left_out.front(), {},
                "use a smaller `batch_size=` or `image_size=`");
  }
  MeasureOptions measure = options.measure;
  Passes passes(measure, report.recipe, stop);  // remembers that the data is warm already
  const std::int64_t classes = passes.classes(*dataset);
  for (int repeat = 0; repeat < measure.repeats; ++repeat) {
    report.device_limit.push_back(passes.synthetic(classes));
    for (SweepSetting& setting : report.settings) {
      if (note) {
        note(fmt::format("repeat {} of {}: {} workers, {} batches", repeat + 1, measure.repeats,
                         setting.workers, setting.slots));
      }
      measure.workers = setting.workers;
      measure.slots = setting.slots;
      setting.passes.push_back(passes.train(dataset, report.condition));
      setting.memory_bytes = std::max(setting.memory_bytes, anonymous_memory());
    }
  }
  return report;
}

std::uint64_t memory_per_worker(const SweepReport& report) {
  const SweepSetting& first = report.settings.front();
  const auto last =
      std::find_if(report.settings.rbegin(), report.settings.rend(),
                   [&](const SweepSetting& setting) { return setting.slots == first.slots; });
  if (last->workers <= first.workers || last->memory_bytes <= first.memory_bytes) return 0;
  return (last->memory_bytes - first.memory_bytes) /
         static_cast<std::uint64_t>(last->workers - first.workers);
}

Recommendation recommend(const SweepReport& report) {
  const std::vector<SweepSetting>& settings = report.settings;
  const auto best = std::ranges::max_element(
      settings, [](const auto& a, const auto& b) { return a.images_per_s() < b.images_per_s(); });
  // Settings are ordered by workers, then by slots.
  const auto chosen = std::ranges::find_if(settings, [&](const auto& setting) {
    return setting.images_per_s() >= reader::kKneeShare * best->images_per_s();
  });
  Recommendation result;
  result.setting = static_cast<std::size_t>(chosen - settings.begin());
  result.still_rising = chosen->workers == settings.back().workers &&
                        settings.front().workers != settings.back().workers;
  const double limit = images_per_s(report.device_limit).median;
  result.reason = fmt::format(
      "{} reader threads and {} batches deliver {:.0f} images/s, {} the best of all settings tried",
      chosen->workers, chosen->slots, chosen->images_per_s(),
      chosen == best ? "which is"
                     : fmt::format("{:.1f} % below",
                                   100 * (1 - chosen->images_per_s() / best->images_per_s())));
  result.reason += fmt::format("; the device alone takes {:.0f}", limit);
  const bool from_storage = report.condition.kind != Condition::Kind::kWarm;
  if (chosen->wait_share() < 0.05) {
    result.reason += fmt::format(", and waits {:.1f} % of the time", 100 * chosen->wait_share());
  } else {
    result.reason += fmt::format(", but waits {:.0f} % of the time{}", 100 * chosen->wait_share(),
                                 remedy_text(busy_share(*chosen, report.cpus), from_storage));
  }
  if (result.still_rising && chosen->workers < 2 * report.cpus)
    result.reason += "; more threads than tried may be even better";
  if (chosen->workers > report.cpus && from_storage)
    result.reason += fmt::format(
        "; more threads than the {} CPUs pay off when they wait for storage", report.cpus);
  if (is_noisy(images_per_s(chosen->passes)) || is_noisy(images_per_s(best->passes)))
    result.reason += "; but the repeats differ by more than the 5 % that decide";
  return result;
}

}  // namespace packhorse::trainer
