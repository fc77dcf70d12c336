#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// Finds the files named by "shards/train-{000000..000146}.tar", by "shards/*.tar", or by a folder.
namespace packhorse {

class FolderLook;

/// Whether a path that does not exist may be a pattern.
bool is_shard_pattern(const std::filesystem::path& path);

/// Expands {first..last}, with leading zeros kept, and {one,other}, from the left, as a shell does.
/// Throws Error(kUsage) for more than a million names.
std::vector<std::string> expand_braces(const std::string& pattern);

/// The files that match a pattern. Throws Error(kNotFound) when one that it names in full is
/// missing.
std::vector<std::filesystem::path> matching_files(const std::string& pattern);

/// Throws Error(kUsage) when the names in `folder` belong to several sets, that is, differ in more
/// than their digits.
void refuse_several_sets(const std::vector<std::string>& names,
                         const std::filesystem::path& folder);

/// The archive files that a file, a folder or a pattern names, sorted by file name in byte order.
/// Throws Error(kNotFound) when a named file is missing or there are none at all; Error(kUsage)
/// when a folder holds shards of several sets (train-0.tar beside val-0.tar), or two shards have
/// the same name.
std::vector<std::filesystem::path> find_shards(const std::filesystem::path& source);

/// Whether `path` is a folder that holds archives and no folders, and is not a packhorse dataset.
bool is_shard_folder(const std::filesystem::path& path, FolderLook& look);

}  // namespace packhorse
