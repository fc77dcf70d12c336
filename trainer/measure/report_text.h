#pragma once

#include <string>

#include "packhorse/trainer/measure.h"
#include "packhorse/trainer/pack_all.h"
#include "packhorse/trainer/sweep.h"

/// What people see of measurements.
namespace packhorse::trainer {

std::string measurement_text(const SpeedReport& report, const MeasureOptions& options,
                             const std::vector<PackingCost>& packing);
std::string sweep_text(const SweepReport& report);

}  // namespace packhorse::trainer
