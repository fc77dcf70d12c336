#include "image/picture.h"

#include <algorithm>
#include <cstring>

namespace packhorse {

namespace {

int padded(int n) { return (n + 7) / 8 * 8; }

}  // namespace

void Plane::reset(int new_width, int new_height, int new_channels) {
  width = new_width;
  height = new_height;
  channels = new_channels;
  stride = static_cast<std::size_t>(channels == 1 ? padded(width) : width * channels);
  samples.resize(stride * static_cast<std::size_t>(padded(height)));
}

void Plane::fill_padding() {
  const auto used = static_cast<std::size_t>(width);
  for (int y = 0; y < height; ++y) {
    std::uint8_t* line = row(y);
    std::fill(line + used, line + stride, line[used - 1]);
  }
  for (int y = height; y < padded(height); ++y) std::memcpy(row(y), row(height - 1), stride);
}

void turn_upright(const Plane& in, const Turn& turn, Plane& out) {
  out.reset(turn.swap ? in.height : in.width, turn.swap ? in.width : in.height, in.channels);
  const auto channels = static_cast<std::size_t>(in.channels);
  for (int y = 0; y < out.height; ++y) {
    std::uint8_t* to = out.row(y);
    for (int x = 0; x < out.width; ++x, to += channels) {
      const int column = turn.swap ? y : x, line = turn.swap ? x : y;
      const std::uint8_t* from =
          in.row(turn.flip_y ? in.height - 1 - line : line) +
          static_cast<std::size_t>(turn.flip_x ? in.width - 1 - column : column) * channels;
      for (std::size_t c = 0; c < channels; ++c) to[c] = from[c];
    }
  }
}

}  // namespace packhorse
