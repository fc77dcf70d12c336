#pragma once

#include <memory>

#include "packhorse/reader/dataset.h"
#include "packhorse/trainer/checkpoint/checkpoint_store.h"
#include "packhorse/trainer/train/fit.h"

/// What fit() decides before the first step.
namespace packhorse::trainer {

using DatasetPtr = std::shared_ptr<const reader::Dataset>;

/// nullptr: there is nothing to score on.
DatasetPtr open_val(const FitOptions& options);

/// Where the run stands: at its start, or at the checkpoint to resume.
struct Beginning {
  RunState state;
  std::optional<Checkpoint> checkpoint;  ///< to load into the engine
};

/// Throws Error, kExists when `options.out` holds a run that is not to be overwritten.
Beginning begin_run(const FitOptions& options, const reader::Dataset& train,
                    const Processes& processes, const CheckpointStore& store);

/// Pictures that one process takes at a time. Throws Error(kUsage) when a step's batch cannot be
/// divided so.
std::int64_t part_size(const Recipe& recipe, const Processes& processes);

}  // namespace packhorse::trainer
