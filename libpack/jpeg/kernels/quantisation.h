#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace packhorse::jpeg {

inline constexpr std::size_t kBlock = 64;  ///< coefficients

/// Where the i-th coefficient of a scan stands in its block, row by row. Source: ITU-T T.81 A.3.6.
/// The second half catches coefficients of damaged blocks.
inline constexpr std::array<std::uint8_t, 2 * kBlock> kZigzag = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,  //
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

/// Steps, row by row of the block; aligned for vectors.
struct alignas(64) Quantisation : std::array<std::int16_t, kBlock> {};

}  // namespace packhorse::jpeg
