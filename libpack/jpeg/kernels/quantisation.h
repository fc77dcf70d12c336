#pragma once

#include <array>
#include <cstdint>

#include "jpeg/kernels/zigzag.h"

namespace packhorse::jpeg {

/// Steps, row by row of the block; aligned for vectors.
struct alignas(64) Quantisation : std::array<std::int16_t, kBlock> {};

}  // namespace packhorse::jpeg
