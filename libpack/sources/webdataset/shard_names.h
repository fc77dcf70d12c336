#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// Which files are meant by "shards/train-{000000..000146}.tar", by "shards/*.tar", or by a folder.
namespace packhorse {

/// Whether a path that is not there may be a pattern.
bool is_shard_pattern(const std::filesystem::path& path);

/// {first..last} with leading zeros kept, and {one,other}, as a shell does it, from the left.
/// Throws Error(kUsage) for more than a million names.
std::vector<std::string> expand_braces(const std::string& pattern);

/// The files a pattern stands for. Throws Error(kNotFound) when one that it names in full is not
/// there.
std::vector<std::filesystem::path> matching_files(const std::string& pattern);

/// Throws Error(kUsage) when the names in `folder` are of several sets: they differ in more than
/// digits.
void refuse_several_sets(const std::vector<std::string>& names,
                         const std::filesystem::path& folder);

/// The archive files a file, a folder or a pattern names, by file name in byte order. Throws
/// Error(kNotFound) when one of them, or every one, is not there; Error(kUsage) when a folder holds
/// shards of several sets (train-0.tar beside val-0.tar), or two shards have one name.
std::vector<std::filesystem::path> find_shards(const std::filesystem::path& source);

/// A folder with archives in it and no folders, which is no dataset of ours.
bool is_shard_folder(const std::filesystem::path& path);

}  // namespace packhorse
