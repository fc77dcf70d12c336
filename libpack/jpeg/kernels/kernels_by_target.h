#pragma once

#include "jpeg/kernels/kernels.h"

/// The functions by which each file of kernels hands over the fastest ones for this processor.
namespace packhorse::jpeg {

using IdctKernel = decltype(Kernels::idct);

struct UpsampleKernels {
  decltype(Kernels::upsample_h2v1) h2v1;
  decltype(Kernels::upsample_h2v2) h2v2;
  decltype(Kernels::upsample_h1v2) h1v2;
};
struct ColourKernels {
  decltype(Kernels::ycc_to_rgb) ycc;
  decltype(Kernels::grey_to_rgb) grey;
};
struct ByteKernels {
  decltype(Kernels::unstuff) unstuff;
  decltype(Kernels::find_marker) find_marker;
};

IdctKernel fastest_idct();
IdctKernel fastest_idct_4x4();
UpsampleKernels fastest_upsampling();
ColourKernels fastest_colours();
ByteKernels fastest_byte_walks();

}  // namespace packhorse::jpeg
