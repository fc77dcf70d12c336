#pragma once

#include "packhorse/sources/source.h"

namespace packhorse {

/// Adds to `listing.doubts` what the listing shows against the splits and classes found by their
/// folders: splits and classes without an image, a single class, odd class names, classes that
/// train lacks, and the folders inside class folders. Says nothing about classes when `options`
/// names them or their labels. Call it when all entries are listed.
void doubt_classes(Listing& listing, const ListOptions& options);

}  // namespace packhorse
