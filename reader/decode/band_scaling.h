#pragma once

#include <cstddef>
#include <span>

#include "decode/resize_kernels.h"

/// The two inner loops of resampling, for pixels of any number of bands, each a float. Weights are
/// floats, at the places that Tap::weights names; those of one Tap sum up to 1.
namespace packhorse::reader {

/// As ResizeKernels::rows; the strides are in floats.
void scale_band_rows(const float* in, std::size_t in_stride, int count, std::span<const Tap> taps,
                     const float* weights, std::size_t bands, float* out, std::size_t out_stride);
/// As ResizeKernels::column: `values` of one output row.
void scale_band_column(const float* in, std::size_t stride, const float* weights, int count,
                       float* out, std::size_t values);

}  // namespace packhorse::reader
