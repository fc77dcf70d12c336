#pragma once

#include <memory>

#include "checkpoint/checkpoint_store.h"
#include "input/normalize.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/reader/loader.h"
#include "packhorse/trainer/recipe/recipe.h"
#include "packhorse/trainer/train/fit.h"

/// The decisions that fit() makes before the first step.
namespace packhorse::trainer {

using DatasetPtr = std::shared_ptr<const reader::Dataset>;

/// What is learnt from: with a fold, all but its part.
DatasetPtr open_train(const FitOptions& options);
/// Returns nullptr when there is nothing to score on.
DatasetPtr open_val(const FitOptions& options);

/// The position of the run: its start, or the checkpoint to resume.
struct Beginning {
  RunState state;
  std::optional<Checkpoint> checkpoint;  ///< to load into the engine
  std::string note;                      ///< what people should know of it, or empty
};

/// Throws Error; kExists when `options.out` holds a run that must not be overwritten.
Beginning begin_run(const FitOptions& options, const reader::Dataset& train,
                    const Processes& processes, const CheckpointStore& store);

/// Pictures that one process takes at a time. Throws Error(kUsage) when a step's batch cannot be
/// split evenly into such parts.
std::int64_t part_size(const Recipe& recipe, const Processes& processes);

/// Mean and deviation of each of the recipe's bands, of 1,000 samples that its seed draws, or of
/// all where there are no more; a band that is the same everywhere has the deviation 1. `how` gives
/// workers, limits and what to do about bad samples. The same in all processes. Throws what a
/// Loader throws.
Normalization measure_bands(const std::shared_ptr<const reader::Dataset>& dataset,
                            const Recipe& recipe, const reader::LoaderOptions& how);

}  // namespace packhorse::trainer
