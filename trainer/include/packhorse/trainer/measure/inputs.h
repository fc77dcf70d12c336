#pragma once

#include "packhorse/reader/dataset.h"
#include "packhorse/trainer/measure/measure.h"

/// Describes the inputs of a measurement.
namespace packhorse::trainer {

/// "folder", or format and image mode, and "at a URL" if it is remote.
std::string input_name(const reader::Dataset& dataset);
/// Describes everything but the name.
MeasuredInput describe_input(const std::filesystem::path& path, const reader::Dataset& dataset);
/// The network's own settings, changed by what the options ask for.
Recipe recipe_for(const MeasureOptions& options);
/// The same, with a batch no larger than the dataset.
Recipe recipe_for(const MeasureOptions& options, const reader::Dataset& dataset);

/// Names the device that the steps ran on.
std::string device_text(const MeasureOptions& options);

}  // namespace packhorse::trainer
