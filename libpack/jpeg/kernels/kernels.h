#pragma once

#include <cstddef>
#include <cstdint>

#include "jpeg/kernels/quantisation.h"

/// The inner loops between coefficients and pixels, and those that walk over a scan's bytes. Each
/// exists for several instruction sets (Highway) and in plain C++, with the same results.
namespace packhorse::jpeg {

/// How far kernels may read and write beyond the end of what they are asked for, and read before
/// its beginning, unless something else is said.
inline constexpr std::size_t kKernelSlack = 128;

/// Blocks of one component side by side in the picture, as they lie among all blocks of a row of
/// MCUs.
struct BlockRow {
  const std::int16_t* blocks = nullptr;  ///< 64 coefficients each; of the first block
  const std::uint8_t* last = nullptr;    ///< as in SegmentTask; of the first block
  std::size_t count = 0;
  std::size_t side_by_side = 1;  ///< 1 or 2 of them, then those of the next MCU
  std::size_t per_mcu = 1;
};

struct Unstuffed {
  const std::uint8_t* stop = nullptr;  ///< the first 0xff that is not data, or the end
  std::uint8_t* out = nullptr;         ///< after the last byte written
};

struct Kernels {
  /// Inverse DCT as libjpeg-turbo's jidctint for x86: 8 rows of 8 * count samples, `stride` apart.
  void (*idct)(const BlockRow& row, const Quantisation& quantisation, std::uint8_t* out,
               std::size_t stride);
  /// The same to 4 rows of 4 * count samples, as jidctred.
  void (*idct_4x4)(const BlockRow& row, const Quantisation& quantisation, std::uint8_t* out,
                   std::size_t stride);
  /// Makes 2 * count samples of `count` by a triangle filter; looks at in[-1] and in[count].
  void (*upsample_h2v1)(const std::uint8_t* in, std::size_t count, std::uint8_t* out);
  /// The same in both directions; `far` is the row above or below.
  void (*upsample_h2v2)(const std::uint8_t* near, const std::uint8_t* far, std::size_t count,
                        std::uint8_t* out);
  /// Makes `count` samples; `bias` is 1 where `far` is above, 2 where it is below.
  void (*upsample_h1v2)(const std::uint8_t* near, const std::uint8_t* far, int bias,
                        std::size_t count, std::uint8_t* out);
  /// Writes 3 * count bytes and nothing else.
  void (*ycc_to_rgb)(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                     std::size_t count, std::uint8_t* out);
  void (*grey_to_rgb)(const std::uint8_t* y, std::size_t count, std::uint8_t* out);
  /// Copies entropy-coded bytes, of ff 00 only the ff. Reads nothing outside [from, end).
  Unstuffed (*unstuff)(const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* out);
  /// Returns where `unstuff` would stop, without copying.
  const std::uint8_t* (*find_marker)(const std::uint8_t* from, const std::uint8_t* end);
};

/// Plain C++ kernels, for any processor; the others are tested against them.
const Kernels& plain_kernels();
/// The fastest this processor can run.
Kernels fastest_kernels();

/// The inverse DCT of one block in plain C++, to 8 rows of 8 samples: equal to libjpeg-turbo's for
/// x86 for any coefficients, also where 16 bits overflow.
void plain_idct(const std::int16_t* block, const Quantisation& quantisation, std::uint8_t* out,
                std::size_t stride);

/// The inverse DCT of one block to 4 rows of 4 samples.
void plain_idct_4x4(const std::int16_t* block, const Quantisation& quantisation, std::uint8_t* out,
                    std::size_t stride);

/// The inverse DCT to blocks of `side` x `side` samples, 4, 2 or 1: `side` rows of side * row.count
/// samples, `stride` apart. Equal to libjpeg-turbo's for x86 for any coefficients.
void reduced_idct(const BlockRow& row, std::uint32_t side, const Quantisation& quantisation,
                  std::uint8_t* out, std::size_t stride);

}  // namespace packhorse::jpeg
