#pragma once

#include <string>
#include <vector>

#include "packhorse/listing/listing.h"
#include "sources/layout/layout.h"

namespace packhorse {

/// A folder of a split that seems to hold masks, boxes or captions of its images.
struct FieldFolder {
  std::string folder;  ///< its path in the split
  std::string place;   ///< the same for --field-from, which may have {class} in it
};

/// What a user would type to pack the files in these folders as fields of the images: "--field-from
/// mask.png=masks --field-from txt=labels". Empty where the folders hold no file.
std::string field_options(const SplitListing& split, const Layout::Root& root,
                          const std::vector<FieldFolder>& folders);

}  // namespace packhorse
