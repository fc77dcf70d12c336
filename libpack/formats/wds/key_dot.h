#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "packhorse/listing/listing.h"

namespace packhorse::wds {

/// A member of a run of members that have the same key by WebDataset's rule, the first dot.
struct RunMember {
  std::string_view extension;  ///< behind the first dot: "00.jpg"
  bool image = false;
};

/// An extension cut at its last dot: {"00", "jpg"}; {"", "jpg"} when it has none.
std::pair<std::string_view, std::string_view> cut_last(std::string_view extension);

/// The dot at which keys end: the only one by which the run neither merges several images into one
/// sample nor leaves out a label or an image. Nothing when both do, or neither.
///
/// - By the first dot, a run may hold an image without a further dot (x.jpg) and whatever else
///   (x.seg.png), or one image alone; but no `.cls` behind a further dot, which would be no label.
/// - By the last dot, each key must have one image and something beside it, and all a `.cls` or
///   none.
std::optional<KeyDot> key_dot_of(std::span<const RunMember> run);

/// The runs of a shard that can be read in two ways, counted.
class UnclearKeys {
 public:
  void add(std::span<const RunMember> run, std::string_view key);
  /// Throws Error(kUsage) when there are any.
  void refuse(const std::filesystem::path& shard) const;

 private:
  std::string example_;
  std::size_t runs_ = 0, images_ = 0, alone_ = 0;
};

}  // namespace packhorse::wds
