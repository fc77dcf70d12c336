#pragma once

#include "packhorse/packing/pack.h"
#include "packing/publish.h"

namespace packhorse {

/// Reads the annotations of all images in `splits`, and for those that are fields of the source
/// the images, too; `jobs` threads. Throws Error(kInterrupted).
PackPreview::Targets preview_targets(const Source& source, const Listing& listing,
                                     const std::vector<SplitWork>& splits, int jobs,
                                     const ImageLimits& limits, const std::stop_token& stop);

}  // namespace packhorse
