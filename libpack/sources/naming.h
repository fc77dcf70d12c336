#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "packhorse/source.h"

/// What names mean in a tree of class folders, be it on disk or in an archive.
namespace packhorse::naming {

inline constexpr const char* kHidden = "hidden (its name starts with a dot)";
inline constexpr const char* kNotAnImage = "not an image, by name and first bytes";
inline constexpr const char* kNotRegular = "not a regular file";
inline constexpr const char* kOutsideSplits = "outside the split folders";
inline constexpr const char* kNoClassFolder = "not in a class folder";

inline bool is_hidden(std::string_view name) { return name.starts_with('.'); }

/// A file with such a name must be an image or is rejected; any other file is looked into and taken
/// when its first bytes are an image's.
bool has_image_name(std::string_view name);

std::string join(std::string_view directory, std::string_view name);

/// torchvision's convention: every folder is a split, and one of them is "train". Returns the
/// folders if so, else nothing.
std::vector<std::string> split_folders(std::vector<std::string> folders);

/// The classes of a source that holds the class folders `found`: label -> name. Throws
/// Error(kUsage) for a folder that is not among `pinned`, unless that is empty.
std::vector<std::string> class_names(const std::vector<std::string>& pinned,
                                     const std::set<std::string>& found,
                                     const std::filesystem::path& source);

/// name -> label
std::unordered_map<std::string, std::int64_t> labels_of(const std::vector<std::string>& classes);

/// Throws Error(kNotFound) when there is neither an entry nor a reject.
void refuse_empty(const Listing& listing, const std::filesystem::path& source,
                  const std::string& advice);

}  // namespace packhorse::naming
