#pragma once

#include <cstdint>
#include <string>

namespace packhorse {

/// Parses a number of bytes: "256MiB", "1.5GB", "4096". Throws Error(kUsage).
std::uint64_t parse_byte_size(const std::string& text);

}  // namespace packhorse
