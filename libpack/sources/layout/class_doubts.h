#pragma once

#include "packhorse/sources/source.h"
#include "sources/layout/layout.h"

namespace packhorse {

/// Adds to `listing.doubts` what the listing shows against the splits and classes found by their
/// folders: splits and classes without an image, a single class, odd class names, classes that
/// train lacks, and the folders inside class folders. Says nothing about classes when `options`
/// names the classes, and nothing about the folders of splits whose labels are given. Call it when
/// all entries are listed and labelled; the splits are those of `layout`.
void doubt_classes(Listing& listing, const ListOptions& options, const Layout& layout);

}  // namespace packhorse
