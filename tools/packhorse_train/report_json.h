#pragma once

#include "common/program.h"
#include "packhorse/trainer/measure/measure.h"
#include "packhorse/trainer/measure/pack_all.h"
#include "packhorse/trainer/measure/sweep.h"

/// Writes measurements as --json prints them; docs/schemas names the fields. Later versions only
/// add fields.
namespace packhorse::trainer {

program::Json measurement_json(const SpeedReport& report, const MeasureOptions& options,
                               const std::vector<PackingCost>& packing);
program::Json sweep_json(const SweepReport& report, const MeasureOptions& options);

program::Json to_json(const Condition& condition);
/// The start of a document: the time, the running command, versions and the machine.
program::Json document_head(const char* schema);

}  // namespace packhorse::trainer
