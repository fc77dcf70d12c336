#pragma once

#include "packhorse/reader/dataset.h"

/// Private to Dataset::open(): the kinds of dataset there are.
namespace packhorse::reader {

/// `path` holds a dataset.json.
std::shared_ptr<const Dataset> open_packed(const std::filesystem::path& path);
/// A class folder, or one of its splits.
std::shared_ptr<const Dataset> open_folder(const std::filesystem::path& path,
                                           const std::string& split, OddClasses odd);

/// Which of `splits` is meant by `wanted`: that one, or "train" when nothing is wanted, or the only
/// one when it has no name. Throws Error(kUsage) with the splits there are.
std::size_t choose_split(const std::vector<std::string>& splits, const std::string& wanted,
                         const std::filesystem::path& path);

}  // namespace packhorse::reader
