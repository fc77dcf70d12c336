#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/dataset/manifest.h"
#include "packhorse/packing/pack.h"

namespace packhorse {

/// A source listed again as it was when a dataset was packed from it.
struct Replay {
  PackOptions options;  ///< as pack() had them
  std::unique_ptr<Source> source;
  Listing listing;
  bool keep_keys = false;
};

/// What shaped the dataset comes from its manifest; from `given`, what that does not record: kind
/// of source, class list, labels file, selection, limits of images, whether to decode them.
/// `classes`: the dataset's, which pin the labels where `given` does not and the source has no
/// others; may be empty. Throws Error as listing does, and Error(kUsage) when the manifest tells
/// that an option was given then that is not now: nothing is guessed.
Replay replay(const Manifest& manifest, const std::vector<std::string>& classes,
              const std::filesystem::path& source, const PackOptions& given, Progress& progress,
              const std::stop_token& stop);

/// The part of the listing a dataset was packed from. Throws Error(kUsage) when there is none.
const SplitListing& split_of(const Replay& replay, const Manifest& manifest,
                             const std::filesystem::path& source);

}  // namespace packhorse
