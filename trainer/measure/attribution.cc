#include <algorithm>

#include "measure/measure.h"

namespace packhorse::trainer {
namespace {

/// The repeat with the median speed.
const Pass& median_pass(const std::vector<Pass>& passes) {
  std::vector<const Pass*> order;
  for (const Pass& pass : passes) order.push_back(&pass);
  std::ranges::sort(
      order, [](const Pass* a, const Pass* b) { return a->images_per_s() < b->images_per_s(); });
  return *order[order.size() / 2];
}

/// The passes of a run's input in the page cache; none where it was not measured there.
const std::vector<Pass>& warm_passes(const SpeedReport& report, const MeasuredRun& run) {
  const MeasuredInput& input = report.inputs[run.input];
  const auto here = std::ranges::find_if(report.inputs, [&](const MeasuredInput& other) {
    return !other.from_afar && other.format == input.format && other.image_mode == input.image_mode;
  });
  if (!input.from_afar || here == report.inputs.end()) return report.run(0, run.input).training;
  return report.run(0, static_cast<std::size_t>(here - report.inputs.begin())).training;
}

}  // namespace

Attribution attribute(const SpeedReport& report, const MeasuredRun& run) {
  Attribution parts;
  if (run.training.empty()) return parts;
  const auto samples = static_cast<double>(report.inputs[run.input].samples);
  const Pass& pass = median_pass(run.training);
  /// Scales the seconds of a pass to an epoch.
  const auto epoch = [&](double seconds, const Pass& of) {
    return of.images > 0 ? samples * seconds / static_cast<double>(of.images) : 0;
  };
  parts.epoch_s = epoch(pass.seconds, pass);
  const Pass& alone = median_pass(report.device_limit);
  parts.device_s = epoch(alone.seconds, alone);
  parts.sharing_s = epoch(pass.compute_s, pass) - parts.device_s;
  const double wait = epoch(pass.wait_s, pass);
  if (const std::vector<Pass>& warm = warm_passes(report, run); !warm.empty()) {
    const Pass& typical = median_pass(warm);
    parts.preparation_s = std::min(wait, epoch(typical.wait_s, typical));
  }
  parts.fetch_s = wait - parts.preparation_s;
  parts.other_s = parts.epoch_s - epoch(pass.compute_s, pass) - wait;
  return parts;
}

reader::Spread spread_of(const std::vector<Pass>& passes,
                         const std::function<double(const Pass&)>& figure) {
  std::vector<double> values;
  for (const Pass& pass : passes) values.push_back(figure(pass));
  return reader::spread_of(values);
}

reader::Spread images_per_s(const std::vector<Pass>& passes) {
  return spread_of(passes, [](const Pass& pass) { return pass.images_per_s(); });
}

bool is_noisy(const reader::Spread& spread) {
  constexpr double kNoise = 0.1;
  return spread.max - spread.min > kNoise * spread.median;
}

}  // namespace packhorse::trainer
