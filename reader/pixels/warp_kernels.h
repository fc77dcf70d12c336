#pragma once

#include <cstddef>
#include <cstdint>

/// The inner loop of warping, for RGB of 8 bits. It exists for several instruction sets (Highway)
/// and in plain C++, with the same results.
namespace packhorse::reader {

inline constexpr int kFixedBits = 16;  ///< of fractions of positions
inline constexpr int kShareBits = 10;  ///< of the shares of neighbouring pixels
/// Bits that sums over two columns lose, so that pairs of them are 16-bit numbers.
inline constexpr int kLostBits = 3;

/// A stretch of a line through a picture: fixed-point positions from the centre of the first pixel.
/// Each pixel of it has four neighbours.
struct WarpLine {
  const std::uint8_t* pixels;  ///< of the picture, with PixelBuffer::kSlack after them
  std::size_t stride;
  std::int32_t x, y, step_x, step_y;
};

/// Writes `count` pixels sampled bilinearly along the line.
using SampleLine = void (*)(const WarpLine& line, int count, std::uint8_t* out);

/// For any processor: what the others are tested against.
void sample_line_plainly(const WarpLine& line, int count, std::uint8_t* out);
/// The fastest this processor can run.
SampleLine fastest_sample_line();

}  // namespace packhorse::reader
