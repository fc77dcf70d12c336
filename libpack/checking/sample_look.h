#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "checking/finding_log.h"
#include "codecs/perceptual_hash.h"
#include "packing/pack_item.h"

namespace packhorse {

/// The path of an entry in reports.
std::string shown_path(const SplitListing& split, std::size_t entry);

/// What was seen of a sample, to find identical ones.
struct SeenSample {
  std::uint64_t hash = 0, size = 0;
  std::uint32_t split = 0, entry = 0;
};

/// The looks of a sample that was decoded, to find similar ones.
struct SeenPicture {
  PictureHashes hashes;
  std::uint32_t split = 0, entry = 0;
};

/// Totals over samples.
struct SampleTotals {
  std::uint64_t looked_at = 0, decoded = 0, failed = 0, objects = 0;
  std::vector<std::uint64_t> objects_of_class;
  void add(const SampleTotals& other);
};

/// Looks at samples of one split as packing would. One thread; the log is shared.
class SampleLook {
 public:
  /// All arguments must outlive it.
  SampleLook(const Source& source, const Listing& listing, std::uint32_t split,
             const PackOptions& options, bool heads_alone, FindingLog& log);

  /// Reads an image's header and its annotations.
  void look(std::size_t entry);
  /// Decodes it, and counts nothing else about it.
  void decode(std::size_t entry);

  SampleTotals totals;
  std::vector<SeenSample> seen;
  std::vector<SeenPicture> pictures;  ///< where all are decoded

 private:
  void look_at_image(const std::string& path);
  void look_at_objects(const std::string& path);
  void look_at_pixels(const std::string& path, std::size_t entry);

  const std::uint32_t split_number_;
  const SplitListing& split_;
  const PackOptions& options_;
  FindingLog& log_;
  const TargetRecord* target_ = nullptr;
  ItemPreparer preparer_;
  PackItem item_;
};

}  // namespace packhorse
