#pragma once

#include "codecs/image_header.h"
#include "order/order.h"
#include "packhorse/reader/bad_samples.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/reader/loader.h"

namespace packhorse::reader {

/// What of its images' bands a loader with these options wants, of which `bands` has a value: looks
/// at up to 16 samples of each kind among the first 100,000. Throws Error(kUnsupported) where
/// images have unlike bands or bits and the options do not say what to make of that, Error(kUsage)
/// where what is asked for is not there or does not fit the type of the batch's numbers.
BandChoice survey_bands(const Dataset& dataset, const LoaderOptions& options);

/// Refuses a dataset of which more images cannot be decoded here than may be bad: told now, and not
/// when the first is met, perhaps after hours. Looks at the first 100,000,
/// so that not all shards of a large dataset are opened for it; where none may be bad, also at the
/// header of one TIFF of those that the index tells alike.
void refuse_undecodable(const Dataset& dataset, const BadSampleOptions& bad, PixelUse use);

/// The order of an epoch, of which the first `done` samples are left out.
OrderOptions order_options(const LoaderOptions& options, std::uint64_t epoch, std::uint64_t done);

}  // namespace packhorse::reader
