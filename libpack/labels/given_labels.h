#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "listing/listing.h"
#include "packhorse/labels/label_options.h"

/// Labels for the listing of a folder or an archive that do not come from its class folders.
namespace packhorse {

/// The names by which a labels file may know an image, the best one first: LabelFile. `for_split`:
/// the file is for its split alone.
std::vector<std::string> names_of_image(const SplitListing& split, std::size_t i, bool for_split);

/// What is known before labels are given.
struct GivenLabels {
  const LabelOptions& options;
  /// Splits whose labels are in a file beside their images, which names them by their paths in the
  /// split.
  std::map<std::string, std::filesystem::path> beside = {};
  /// The classes that --classes gives; empty: none.
  std::vector<std::string> classes = {};
  /// The other splits have the labels of their class folders, which are Listing::classes: labels
  /// given must be among these, too.
  bool some_by_folders = false;
  /// Gives two names of one split the same text: "train" for "Training".
  std::string (*meaning_of_split)(const std::string& name);
};

/// Gives all entries of the splits concerned their labels; those without one become rejects. Sets
/// the listing's classes. Throws Error(kUsage) as LabelFile, LabelNames and LabelPattern do, and
/// for a split that is not there.
void give_labels(const GivenLabels& given, Listing& listing);

}  // namespace packhorse
