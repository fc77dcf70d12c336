#pragma once

#include "packhorse/source.h"

namespace packhorse {

/// Adds to `listing.doubts` what the classes themselves make doubtful: their names, that there is
/// but one, that one has no image. Nothing where `options` name the classes or their labels.
void doubt_classes(Listing& listing, const ListOptions& options);

}  // namespace packhorse
