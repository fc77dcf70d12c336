#pragma once

#include <cstdint>

#include "jpeg/kernels/quantisation.h"

namespace packhorse::jpeg {

/// The inverse DCT of one block in plain C++, to 8 rows of 8 samples: equal to libjpeg-turbo's for
/// x86 for any coefficients, also where 16 bits overflow.
void plain_idct(const std::int16_t* block, const Quantisation& quantisation, std::uint8_t* out,
                std::size_t stride);

}  // namespace packhorse::jpeg
