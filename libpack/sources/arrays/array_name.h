#pragma once

#include <string>
#include <string_view>

namespace packhorse {

/// What the name of an array says: "train_images", "x_test", "labels";
/// "camelyonpatch_level_2_split_train_x/x" for the array "x" in a file of that name.
struct ArrayName {
  enum class Role { kNone, kImages, kLabels };
  Role role = Role::kNone;
  std::string split;  ///< "train", "val", "test"; "" when it names none
  /// Its other words. Images and labels belong together when these are the same.
  std::string rest;
  bool unclear = false;  ///< it names two splits
};

/// The last part of the name with a word for images or labels tells the role.
ArrayName parse_array_name(std::string_view name);

}  // namespace packhorse
