#pragma once

#include <cstdint>

namespace packhorse {

/// Converts a row of CMYK to RGB, without a profile. 0 is full ink, as practically all CMYK JPEGs
/// have it; Pillow and OpenCV take all of them so, with Adobe's marker or without. `rgb` may begin
/// where `cmyk` does, or before.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, int pixels);

}  // namespace packhorse
