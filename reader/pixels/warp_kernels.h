#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// The inner loops of warping, for RGB of 8 bits. They exist for several instruction sets (Highway)
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

inline constexpr int kPositionBits = 32;     ///< of fractions of positions, for bicubic sampling
inline constexpr int kCubicPhases = 1 << 9;  ///< from one pixel to the next
inline constexpr int kCubicBits = 12;        ///< weights are in 1 / (1 << kCubicBits)
inline constexpr int kCubicLostBits = 6;     ///< as kLostBits
using CubicWeights = std::array<std::int16_t, 4>;

/// A stretch of a line through a picture: positions of the top left of 4 x 4 neighbours, all of
/// which are there.
struct CubicLine {
  const std::uint8_t* pixels;  ///< of the picture, with PixelBuffer::kSlack after them
  std::size_t stride;
  std::int64_t x, y, step_x, step_y;
  const CubicWeights* weights;  ///< of phases 0 to kCubicPhases, which is the next pixel's

  const CubicWeights& weights_at(std::int64_t position) const {
    constexpr std::int64_t kPixel = std::int64_t{1} << kPositionBits,
                           kPhase = kPixel / kCubicPhases;
    return weights[((position & (kPixel - 1)) + kPhase / 2) / kPhase];
  }
  const std::uint8_t* pixels_at(std::int64_t column, std::int64_t row) const {
    return pixels + (row >> kPositionBits) * static_cast<std::ptrdiff_t>(stride) +
           (column >> kPositionBits) * 3;
  }
};

/// Writes `count` pixels sampled bicubically along the line.
using SampleCubic = void (*)(const CubicLine& line, std::int64_t count, std::uint8_t* out);

/// For any processor: what the others are tested against.
void sample_line_plainly(const WarpLine& line, int count, std::uint8_t* out);
void sample_cubic_plainly(const CubicLine& line, std::int64_t count, std::uint8_t* out);
/// The fastest this processor can run.
SampleLine fastest_sample_line();
SampleCubic fastest_sample_cubic();

}  // namespace packhorse::reader
