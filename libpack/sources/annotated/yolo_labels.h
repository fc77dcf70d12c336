#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "listing/listing.h"

namespace packhorse {

/// Which label files of YOLO belong to the images of a source, whose paths are those in it.
class YoloLabels {
 public:
  explicit YoloLabels(std::filesystem::path root) : root_(std::move(root)) {}

  /// Gives each image its labels as field 0; one whose labels cannot be reached becomes a reject.
  /// Returns whether any image has some, be they readable or not. Throws Error(kUsage) for an image
  /// that has none where they should be, and a file beside it that is called so; Error(kIo).
  bool attach(SplitListing& split);

  /// A list of images lies where labels may lie, and is none.
  void is_list(const std::string& path);

  /// To be called once, when all splits have theirs. Files of no image become skips, but for those
  /// in the folders `walked`, which are skips already, as no image. An image without labels becomes
  /// a reject where a file has their name in other letter case. Throws Error(kNotFound | kIo).
  void check_unused(Listing& listing, const std::vector<std::string>& walked);

  /// Where the labels of the images are or would be. What is there and is named like labels,
  /// check_unused() tells of.
  const std::set<std::string, std::less<>>& folders() const { return folders_; }
  static bool is_label_name(std::string_view path);

  /// Says of the first image without labels where they would be; "" when there is none.
  const std::string& missing() const { return missing_; }

 private:
  void refuse_beside(int root, const std::string& image, const std::string& path) const;

  std::filesystem::path root_;
  std::set<std::string> lists_;  ///< of images
  std::string missing_;
  std::set<std::string, std::less<>> folders_;
  std::vector<std::uint64_t> wanted_;  ///< hashes of the paths of all images' labels
  std::vector<std::uint64_t> absent_;  ///< of those that are not there, in lower case
};

}  // namespace packhorse
