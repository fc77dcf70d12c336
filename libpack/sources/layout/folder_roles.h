#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What folder names say, without looking inside the folders.
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

/// The roles of folders that lie side by side, in the order given. A name is cut into words, and
/// words that say nothing ("set", "data", "2017") are ignored. Any other word makes the name plain
/// ("bullet_train"), unless another folder has the same words and another split ("seg_train",
/// "seg_test").
std::vector<FolderRole> roles_of(const std::vector<std::string>& folders);

/// The split that a folder name of kind kSplit stands for ("train" for "Training"); empty for other
/// names.
std::string split_named(std::string_view folder);
/// The same; for other names the name itself.
std::string split_or_name(const std::string& folder);

/// The split that a name stands for, with the numbers in it: "train2017" for "Train2017". What
/// stands for none is the name, without regard to letter case.
std::string meaning_of_split(const std::string& name);
/// Refuses splits that a table names when two of them stand for one split, and what an empty cell
/// becomes elsewhere: Error(kUsage).
void refuse_unclear_splits(const std::vector<std::string>& names,
                           const std::filesystem::path& table);

/// Whether a folder of that name alone is of kind kImages.
bool is_images_folder(std::string_view name);

/// Whether a folder of that name alone is of kind kBeside.
bool is_beside_images(std::string_view name);

/// The splits that a word of the name equals, or begins or ends with: "train" for "mytrain" and
/// "train_clean", "val" for "valley"; "" for a word of kUnclearSplit. Only a guess, meant for names
/// that would all be classes unless this speaks against it.
std::set<std::string_view> splits_hinted(std::string_view folder);

}  // namespace packhorse
