#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "packhorse/image/image_info.h"

/// Decoded samples, and turning them upright.
namespace packhorse {

/// One channel, or several interleaved. With one channel, rows and their number are padded to
/// multiples of eight samples, as JPEG's blocks need.
struct Plane {
  int width = 0, height = 0;
  int channels = 1;
  std::size_t stride = 0;  ///< bytes from one row to the next
  std::vector<std::uint8_t> samples;

  /// Contents are undefined afterwards.
  void reset(int new_width, int new_height, int new_channels = 1);
  std::uint8_t* row(int y) { return samples.data() + static_cast<std::size_t>(y) * stride; }
  const std::uint8_t* row(int y) const {
    return samples.data() + static_cast<std::size_t>(y) * stride;
  }
  /// Repeats the last column and row into the padding.
  void fill_padding();
};

/// Replaces `out` with `in`, turned upright.
void turn_upright(const Plane& in, const Turn& turn, Plane& out);

}  // namespace packhorse
