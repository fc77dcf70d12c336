#pragma once

#include "packhorse/reader/dataset.h"
#include "packhorse/trainer/measure/measure.h"

/// What measurements say of their inputs.
namespace packhorse::trainer {

/// "folder", or format and image mode.
std::string input_name(const reader::Dataset& dataset);
/// All but the name.
MeasuredInput describe_input(const std::filesystem::path& path, const reader::Dataset& dataset);
/// The network's own settings with what is asked for.
Recipe recipe_for(const MeasureOptions& options);
/// Likewise, with a batch no larger than the dataset.
Recipe recipe_for(const MeasureOptions& options, const reader::Dataset& dataset);

/// What the steps ran on.
std::string device_text(const MeasureOptions& options);

}  // namespace packhorse::trainer
