#pragma once

#include <cstdint>

#include "jpeg/kernels/kernels.h"

namespace packhorse::jpeg {

/// The inverse DCT of one block to 4 rows of 4 samples.
void plain_idct_4x4(const std::int16_t* block, const Quantisation& quantisation, std::uint8_t* out,
                    std::size_t stride);

/// The inverse DCT to blocks of `side` x `side` samples, 4, 2 or 1: `side` rows of side * row.count
/// samples, `stride` apart. Equal to libjpeg-turbo's for x86 for any coefficients.
void reduced_idct(const BlockRow& row, std::uint32_t side, const Quantisation& quantisation,
                  std::uint8_t* out, std::size_t stride);

}  // namespace packhorse::jpeg
