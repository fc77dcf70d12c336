#pragma once

#include <string>

#include "packhorse/base/bytes.h"

/// The name in a member's tar headers, byte for byte. libarchive converts names to the charset of
/// the locale and normalises them; an image's name must come through whatever its bytes.
///
///     | 'x' or 'L' header 512 | its data, padded to 512 | ... | the member's header 512 |
namespace packhorse {

inline constexpr std::size_t kTarBlock = 512;

/// Whether the bytes are zeros, as the end mark and padding are.
bool all_zero(Bytes bytes);

struct TarHeader {
  std::string name;
  std::string link;  ///< target of a hard or symbolic link
  char type = '0';
  bool sparse = false;  ///< its data do not lie in one piece
};

/// Whether a block is a tar header: its checksum is right.
bool is_tar_header(Bytes block);

/// Parses the headers of one member, from the first extended one to the member's own; blocks of
/// zeros may precede them. Throws Error(kCorrupt) when they do not fit together.
///
/// Sources: POSIX.1-2017 pax "ustar Interchange Format" and "pax Header Block"; GNU tar manual,
/// "Basic Tar Format".
TarHeader parse_tar_headers(Bytes blocks);

}  // namespace packhorse
