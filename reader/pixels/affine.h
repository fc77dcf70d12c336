#pragma once

#include <array>
#include <cstdint>

#include "packhorse/reader/geometry.h"
#include "pixels/pixels.h"

namespace packhorse::reader {

/// How a position between pixel centres gets its colour. kNearest and kBilinear are torchvision's
/// of tensors; kBicubic is Pillow's (a = -1), which torchvision uses for its images.
enum class WarpInterpolation : std::uint8_t { kNearest, kBilinear, kBicubic };

using Colour = std::array<std::uint8_t, kChannels>;

/// Writes `out`, a picture of the source's size whose rows follow each other: the pixel at a
/// position has the source's colour at `inverse` of it, and `colour` where there is none. `source`
/// is RGB in a PixelBuffer; `inverse` is affine.
void move_picture(const PixelView& source, const Matrix& inverse, WarpInterpolation interpolation,
                  const Colour& colour, std::uint8_t* out);

}  // namespace packhorse::reader
