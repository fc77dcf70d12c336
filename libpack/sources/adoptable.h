#pragma once

#include <filesystem>
#include <string>

namespace packhorse {

/// What to do with a path, if it is a shard that can be adopted but is no source, such as an LMDB
/// environment, or a folder that holds one; otherwise empty.
std::string advice_to_adopt(const std::filesystem::path& path);

}  // namespace packhorse
