#pragma once

#include <string>

#include "packhorse/trainer/measure/measure.h"
#include "packhorse/trainer/measure/pack_all.h"
#include "packhorse/trainer/measure/sweep.h"

/// Puts measurements into words.
namespace packhorse::trainer {

std::string measurement_text(const SpeedReport& report, const MeasureOptions& options,
                             const std::vector<PackingCost>& packing);
std::string sweep_text(const SweepReport& report);

}  // namespace packhorse::trainer
