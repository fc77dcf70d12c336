#pragma once

#include <cstdint>

namespace packhorse {

/// A row of a CMYK JPEG to RGB, without a profile. `inverted`, as it follows Adobe's marker:
/// practically all CMYK files are Adobe's.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, int pixels, bool inverted);

}  // namespace packhorse
