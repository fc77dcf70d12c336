#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Concatenated shard: samples one behind the other, with nothing before, between or after them.
/// All numbers little-endian. One sample:
///
///     | key length u32 | key | label i64 | image length u64 | image |
///
/// Raw pixels are an image like any other: only the index knows their width and height.
namespace packhorse::concat {

inline constexpr int kVersion = 1;
inline constexpr std::string_view kSuffix = ".concat";
inline constexpr std::uint32_t kLongestKey =
    512;  ///< bytes; bounds what a reader takes from a file
inline constexpr std::size_t kNumberBytes = 4 + 8 + 8;  ///< of a sample, beside its key and image

}  // namespace packhorse::concat
