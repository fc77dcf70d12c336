#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// WebDataset shard, a POSIX ustar archive. One sample:
///
///     | header 512 | image bytes, padded to 512 | header 512 | label in ASCII, padded to 512 |
///       000000017.jpg                             000000017.cls
///     | header 512 | field, padded to 512 | ...
///       000000017.json                            further fields by name; those it has
///
/// and at the end two blocks of zeros. Modification time, user and group are 0, mode is 0644, so
/// that the same samples give the same bytes. Raw pixels are a NumPy file:
///
///     | header 512 | NumPy header 128 | pixels, padded to 512 | ...
///       000000017.npy                   the index names the pixels
///
/// Compressed (.tar.zst), each sample is a zstd frame of its own, and the end another:
///
///     | frame: blocks of sample 0 | frame: blocks of sample 1 | ... | frame: 1024 zeros |
namespace packhorse::wds {

inline constexpr int kVersion = 1;
inline constexpr std::string_view kSuffix = ".tar";
inline constexpr std::string_view kCompressedSuffix = ".tar.zst";
inline constexpr std::string_view kLabelExtension = ".cls";
inline constexpr std::size_t kLongestName = 100;  ///< in a ustar header without prefix

/// A member's name, cut as WebDataset cuts it.
struct MemberName {
  std::string key;
  std::string extension;  ///< lower case, without the first dot, e.g. "seg.png"
};

/// WebDataset's rule, `^((?:.*/|)[^.]+)[.]([^/]*)$` (webdataset/tariterators.py: base_plus_ext);
/// nothing for a name it does not match, which WebDataset passes over.
std::optional<MemberName> cut_member_name(std::string_view name);

/// Whether WebDataset takes a member to be about the shard, and passes over it whatever it holds:
/// its name, or the first directory in it, begins and ends with "__" (tariterators.py:
/// tar_file_iterator, skip_meta).
bool is_meta_name(std::string_view name);

}  // namespace packhorse::wds
