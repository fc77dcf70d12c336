#include "jpeg/kernels/kernels.h"

#include "jpeg/kernels/kernels_by_target.h"

namespace packhorse::jpeg {

Kernels fastest_kernels() {
  const UpsampleKernels upsample = fastest_upsampling();
  const ColourKernels colours = fastest_colours();
  const ByteKernels bytes = fastest_byte_walks();
  return {fastest_idct(), fastest_idct_4x4(), upsample.h2v1, upsample.h2v2,    upsample.h1v2,
          colours.ycc,    colours.grey,       bytes.unstuff, bytes.find_marker};
}

}  // namespace packhorse::jpeg
