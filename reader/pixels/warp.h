#pragma once

#include <cstdint>

#include "packhorse/reader/geometry.h"
#include "pixels/pixels.h"

namespace packhorse::reader {

/// What lies beyond a picture's edge.
enum class Beyond {
  kBackground,  ///< what is there already: pixels at the edge are mixed with it
  kNeighbour,   ///< another picture: output pixels belong to the one that covers their centre
};

/// Samples a picture bilinearly, as torchvision's affine and perspective do: writes the pixels of
/// `seen`, a window of the output, that the picture covers. `pixels` are its part that begins at
/// (x, y); `extent` is all of it, in the same coordinates; `inverse` takes the output to them.
/// `out` is the output's first pixel, with rows `stride` bytes apart; all pixels are of `shape`.
struct WarpSource {
  PixelView pixels;
  int x = 0, y = 0;
  Window extent;
};
void warp(const WarpSource& source, const Matrix& inverse, Beyond beyond, const Window& seen,
          std::uint8_t* out, std::size_t stride, PixelShape shape = {});

}  // namespace packhorse::reader
