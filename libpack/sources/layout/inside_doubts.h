#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// Adds to `listing.doubts` what the folders inside class folders speak against these: splits, what
/// comes with images, the same folders in all. Part of doubt_classes().
void doubt_inside(Listing& listing, const ListOptions& options);

}  // namespace packhorse
