#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

/// A category of COCO.
struct CocoCategory {
  std::string id;  ///< as it is written: a number or a text
  std::string name;
  std::vector<std::string> keypoints;  ///< names of an object's key points
};

/// The "categories" of a valid file by ascending id, so that a label is a place among them. Throws
/// Error(kUsage), without a path, for no list, for a category without an id or a name, and for an
/// id or a name that is there twice.
std::vector<CocoCategory> read_coco_categories(std::string_view array);

/// The ids of the categories of a head that a manifest keeps, by label. Throws Error(kCorrupt),
/// without a path, where it is damaged, or has other than `classes` categories.
std::vector<std::string> kept_category_ids(std::string_view head, std::size_t classes);

/// The most bytes of a head that a manifest keeps.
inline constexpr std::size_t kMostHeadBytes = std::size_t{4} << 20;

}  // namespace packhorse
