#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace packhorse {

/// The name, byte for byte, in the local file header that ends at `end`, where its member's data
/// begin; nothing when there is none or when it is not marked as UTF-8.
///
///     | "PK\3\4", version, flags, ... 26 bytes | name length, extra length | name | extra | data
///
/// Source: PKWARE APPNOTE.TXT 6.3, 4.3.7 and 4.4.4.
std::optional<std::string> zip_name_before(int fd, std::uint64_t end,
                                           const std::filesystem::path& path);

}  // namespace packhorse
