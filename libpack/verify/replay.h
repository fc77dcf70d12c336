#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "listing/listing.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/packing/pack.h"
#include "sources/source.h"

namespace packhorse {

/// A source, listed again as it was when a dataset was packed from it.
struct Replay {
  PackOptions options;  ///< as pack() had them
  std::unique_ptr<Source> source;
  Listing listing;
  bool keep_keys = false;
};

/// Lists a source again. The manifest gives what shaped the dataset; `given` adds what the manifest
/// does not record: kind of source, class list, labels file, selection, limits on images, whether
/// to decode them. `classes`: those of the dataset, which pin the labels when `given` names none
/// and the source has no others; may be empty. Throws Error as listing does, and Error(kUsage) when
/// the manifest shows that an option used then is missing now: nothing is guessed.
Replay replay(const Manifest& manifest, const std::vector<std::string>& classes,
              const std::filesystem::path& source, const PackOptions& given, Progress& progress);

/// The split of the listing that a dataset was packed from. Throws Error(kUsage) when there is
/// none.
SplitListing& split_of(Replay& replay, const Manifest& manifest,
                       const std::filesystem::path& source);

}  // namespace packhorse
