#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What the names of folders say, without a look at what is in them.
namespace packhorse {

struct FolderRole {
  enum class Kind : std::uint8_t {
    kPlain,         ///< says nothing: a class, or a folder around everything
    kSplit,         ///< "train", "Training", "train2017", "test_set": part `split` of a dataset
    kUnclearSplit,  ///< "trainval", "eval": some part of a dataset, but not which
    kImages,        ///< "images", "jpg": holds images of all classes
    kBeside         ///< "annotations", "masks", "labels": what comes with images, and no class
  };
  Kind kind = Kind::kPlain;
  std::string split;  ///< of kSplit: "train", "val" or "test"
};

/// The roles of folders that lie side by side, in their order. A name is cut into words, and the
/// words that say nothing ("set", "data", "2017") are left out. A word beside those makes a name
/// plain ("bullet_train"), unless another folder has the same words and another split ("seg_train",
/// "seg_test").
std::vector<FolderRole> roles_of(const std::vector<std::string>& folders);

/// The split that folder names of that kind stand for: "train" for "Training"; empty for others.
std::string split_named(std::string_view folder);

/// The splits that a word of the name is, or begins or ends with: "train" for "mytrain" and
/// "train_clean", "val" for "valley". "" stands for one of kUnclearSplit. A guess: for names that
/// all are classes, if this does not speak against it.
std::set<std::string_view> splits_hinted(std::string_view folder);

}  // namespace packhorse
