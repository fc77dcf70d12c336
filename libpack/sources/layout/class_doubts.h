#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// Adds to `listing.doubts` what speaks against the splits and classes that folders told, as far as
/// the listing shows it: splits and classes without an image, one class alone, their names, those
/// of other splits, the folders in them. Of classes nothing where `options` name them or their
/// labels. Call it when all entries are listed.
void doubt_classes(Listing& listing, const ListOptions& options);

}  // namespace packhorse
