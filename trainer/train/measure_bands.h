#pragma once

#include <memory>

#include "input/normalize.h"
#include "packhorse/reader/loader.h"
#include "packhorse/trainer/recipe/recipe.h"

namespace packhorse::trainer {

/// Mean and deviation of each of the recipe's bands, of 1,000 samples that its seed draws, or of
/// all where there are no more; a band that is the same everywhere has the deviation 1. `how` gives
/// workers, limits and what to do about bad samples. The same in all processes. Throws what a
/// Loader throws.
Normalization measure_bands(const std::shared_ptr<const reader::Dataset>& dataset,
                            const Recipe& recipe, const reader::LoaderOptions& how);

}  // namespace packhorse::trainer
