#pragma once

#include <cstdint>

namespace packhorse {

/// Converts a row of a CMYK JPEG to RGB, without a profile. `inverted` is whether the file has
/// Adobe's marker, as practically all CMYK files do.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, int pixels, bool inverted);

}  // namespace packhorse
