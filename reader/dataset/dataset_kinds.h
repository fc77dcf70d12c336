#pragma once

#include "packhorse/reader/dataset.h"

/// Private to Dataset::open(): the kinds of dataset there are.
namespace packhorse::reader {

/// Opens a `path` that holds a dataset.json.
std::shared_ptr<const Dataset> open_packed(const std::filesystem::path& path);
/// Opens a class folder, or one of its splits.
std::shared_ptr<const Dataset> open_folder(const std::filesystem::path& path,
                                           const std::string& split, OddClasses odd);

/// The index in `splits` of the split that `wanted` names. When `wanted` is empty: of "train", or
/// of the only split when it has no name. Throws Error(kUsage) listing the splits.
std::size_t choose_split(const std::vector<std::string>& splits, const std::string& wanted,
                         const std::filesystem::path& path);

}  // namespace packhorse::reader
