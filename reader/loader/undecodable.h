#pragma once

#include "packhorse/codecs/image_header.h"
#include "packhorse/reader/bad_samples.h"
#include "packhorse/reader/dataset.h"

namespace packhorse::reader {

/// Refuses a dataset of which more images cannot be decoded here than may be bad: told now, and not
/// when the first is met, perhaps after hours. Looks at the first 100,000,
/// so that not all shards of a large dataset are opened for it; where none may be bad, also at the
/// header of one TIFF of those that the index tells alike.
void refuse_undecodable(const Dataset& dataset, const BadSampleOptions& bad, PixelUse use);

}  // namespace packhorse::reader
