#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "listing/listing.h"

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

/// The runs of a shard that can be read in two ways, counted, and whether each way would pack them
/// all.
class UnclearKeys {
 public:
  void add(std::span<const RunMember> run, std::string_view key);
  /// Throws Error(kUsage) when there are any, with the options that would pack them.
  void refuse(const std::filesystem::path& shard) const;

 private:
  bool first_packs() const;
  bool last_packs() const;

  std::string example_;
  std::size_t runs_ = 0, images_ = 0;                    ///< samples by the first dot, by the last
  std::size_t labelled_runs_ = 0, labelled_images_ = 0;  ///< those that have a label
  bool one_image_each_ = true, imageless_run_ = false;
  std::set<std::string, std::less<>> extensions_;  ///< by the first dot
};

}  // namespace packhorse::wds
