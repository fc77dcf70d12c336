#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codecs/image_header.h"
#include "packhorse/dataset/sample.h"
#include "packhorse/packing/pack.h"
#include "sources/source.h"
#include "targets/pixel_map.h"
#include "transforms/transform.h"

namespace packhorse {

/// One input on its way into a shard. Reused for further inputs.
struct PackItem {
  std::size_t position = 0;  ///< among the shard's entries; the caller sets it
  EntryTable::Entry entry;
  Problem problem;          ///< why it is rejected; empty: it is not rejected
  bool may_change = false;  ///< rejected because of the file system, not of its bytes
  ImageInfo image;
  PixelLayout layout;                       ///< of a source's image that is a file
  Bytes stored;                             ///< the image as it will be stored
  std::vector<Field> fields;                ///< views into `input`, `record` and `made`
  std::uint64_t hash = 0;                   ///< xxh3 of `stored`
  std::vector<std::uint64_t> field_hashes;  ///< by Listing::stored_fields(); 0 for none
  std::string_view note;                    ///< of the transform

  std::uint64_t bytes_in() const;
  /// Gives back the memory that only large inputs need.
  void shrink();

  Input input;
  std::vector<std::byte> output;
  std::string record;       ///< what annotation files say of the image
  std::size_t objects = 0;  ///< in the image
  bool turned = false;      ///< by EXIF, and nothing says whether its objects are so, too
  bool moved = false;       ///< its pixels have other places than in the source
  /// Fields that are made, or made anew, for the image as it will be stored.
  struct Made {
    std::string_view name;  ///< of a target, or a constant
    std::vector<std::byte> bytes;
  };
  std::vector<Made> made;
};

/// Reads an input, checks that it is an image, transforms it, and hashes the result. Any thread.
/// All constructor arguments must outlive it.
class ItemPreparer {
 public:
  /// `heads_alone`: the first bytes of an image are enough where they say what it is, so neither
  /// its end nor its pixels are looked at, and `stored` and its hash are those of these bytes.
  ItemPreparer(const Source& source, const SplitListing& split, const Listing& listing,
               const PackOptions& options, bool heads_alone = false);
  /// Fills everything but `position`. An input that cannot be packed is given a problem.
  void prepare(PackItem& item, std::size_t entry) const;

 private:
  const Source& source_;
  const SplitListing& split_;
  const Listing& listing_;
  const PackOptions& options_;
  const bool heads_alone_;

  /// Reads an input, and looks what image it is.
  ProbeResult read(Input& input, std::size_t entry, const std::string& path) const;
  /// The target of that kind, where the samples have one.
  const TargetRecord* find_target(std::string_view kind) const;
  std::optional<Bytes> field_of(const PackItem& item, std::string_view name) const;
  /// The objects in the image, told from its record or field.
  Objects read_objects(PackItem& item, std::size_t entry, const TargetRecord& target) const;
  /// What tables say of the image, and its mask where its pixels went.
  void make_extras(PackItem& item, std::size_t entry, const ImageInfo& image,
                   const PixelMap& map) const;
  void take_fields(PackItem& item) const;

  std::unique_ptr<Transform> transform_;
  std::vector<std::string> fields_;  ///< Listing::stored_fields()
};

}  // namespace packhorse
