#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/dataset/sample.h"
#include "packhorse/packing/pack.h"
#include "packhorse/sources/source.h"
#include "packhorse/transforms/transform.h"

namespace packhorse {

/// Names the options that decide which images are rejected; part of what shards depend on.
std::string name_of_checks(const PackOptions& options);

/// One input on its way into a shard. Reused for further inputs.
struct PackItem {
  std::size_t position = 0;  ///< in the plan; the caller sets it
  EntryTable::Entry entry;
  std::string reason;       ///< why it is rejected; empty: it is not rejected
  bool may_change = false;  ///< rejected because of the file system, not of its bytes
  ImageInfo image;
  Bytes stored;                             ///< the image as it will be stored
  std::vector<Field> fields;                ///< views into `input`, `record` and `objects`
  std::uint64_t hash = 0;                   ///< xxh3 of `stored`
  std::vector<std::uint64_t> field_hashes;  ///< by Listing::stored_fields(); 0 for none
  std::string_view note;                    ///< of the transform

  std::uint64_t bytes_in() const;
  /// Gives back the memory that only large inputs need.
  void shrink();

  Input input;
  std::vector<std::byte> output;
  std::string record;              ///< what annotation files say of the image
  std::vector<std::byte> objects;  ///< as they will be stored
  bool moved = false;              ///< its pixels have other places than in the source
};

/// Reads an input, checks that it is an image, transforms it, and hashes the result. Any thread.
/// All constructor arguments must outlive it.
class ItemPreparer {
 public:
  ItemPreparer(const Source& source, const SplitListing& split, const Listing& listing,
               const PackOptions& options);
  /// Fills everything but `position`. An input that cannot be packed is given a reason.
  void prepare(PackItem& item, std::size_t entry) const;

 private:
  const Source& source_;
  const SplitListing& split_;
  const Listing& listing_;
  const PackOptions& options_;

  /// The objects in the image, told from its record or field.
  Objects read_objects(PackItem& item, std::size_t entry) const;
  void take_fields(PackItem& item) const;

  std::unique_ptr<Transform> transform_;
  std::vector<std::string> fields_;  ///< Listing::stored_fields()
};

}  // namespace packhorse
