#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "annotations/class_table.h"
#include "listing/listing.h"
#include "packhorse/annotations/target_options.h"
#include "packhorse/base/bytes.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/dataset/sample.h"
#include "packhorse/image/image_info.h"

namespace packhorse {

/// What is said of the samples of a listing beside their labels and objects: several classes, a
/// caption, a semantic mask (ExtraTarget). Any thread, once it is attached.
class ExtraTargets {
 public:
  /// A field that packing makes.
  struct Made {
    std::string_view name;
    std::vector<std::byte> bytes;
  };

  /// Opens the tables. Throws Error(kUsage | kNotFound | kIo).
  explicit ExtraTargets(TargetOptions options);
  /// Goes through a listing: images that a table does not name become rejects. Throws Error(kUsage)
  /// for a field that is missing, or there already; a split without a table; a table that names
  /// none of the images.
  void attach(Listing& listing);

  std::vector<TargetRecord> targets() const;
  /// The fields made of what the tables say of a sample.
  std::vector<Made> make(const SplitListing& split, std::size_t entry) const;
  /// Throws Error(kCorrupt | kUnsupported) when a sample's field is not what its target must be,
  /// for an image as the source has it.
  void check(const Field& field, const ImageInfo& image) const;
  /// Names everything that made fields and rejects depend on besides the source.
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  void attach_table(const std::string& split, LabelFile& file, Listing& listing) const;
  void open_classes();

  TargetOptions options_;
  std::map<std::string, ClassTable> classes_;  ///< by split; "": all
  std::map<std::string, LabelFile> captions_;
  std::vector<std::string> class_names_, mask_classes_, notes_;
  std::string mask_, caption_;  ///< their fields
  std::string fingerprint_;
};

/// Throws Error(kUnsupported) for a caption of more than 1 MiB, Error(kCorrupt) for one that is no
/// text in UTF-8 or holds a zero.
void check_caption(Bytes caption);

}  // namespace packhorse
