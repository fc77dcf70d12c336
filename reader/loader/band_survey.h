#pragma once

#include "packhorse/reader/loader.h"

namespace packhorse::reader {

/// What of its images' bands a loader with these options wants, of which `bands` has a value: looks
/// at up to 16 samples of each kind among the first 100,000. Throws Error(kUnsupported) where
/// images have unlike bands or bits and the options do not say what to make of that, Error(kUsage)
/// where what is asked for is not there or does not fit the type of the batch's numbers.
BandChoice survey_bands(const Dataset& dataset, const LoaderOptions& options);

}  // namespace packhorse::reader
