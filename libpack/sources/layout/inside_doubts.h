#pragma once

#include "packhorse/sources/source.h"
#include "sources/layout/layout.h"

namespace packhorse {

/// Adds to `listing.doubts` what the folders inside the class folders say against the layout: they
/// are named like splits, hold companions of the images (masks, annotations), or are the same in
/// every class folder. Part of doubt_classes().
void doubt_inside(Listing& listing, const ListOptions& options, const Layout& layout);

}  // namespace packhorse
