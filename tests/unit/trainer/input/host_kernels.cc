#include "unit/trainer/input/host_kernels.h"

// The functions have other names here: LibTorch's programs hold the GPU's, too.
#define launch_crops host_launch_crops
#define launch_normalize host_launch_normalize
#include "input/gpu_decode/crop_kernel.cu"
#include "input/normalize.cu"
#undef launch_crops
#undef launch_normalize

namespace packhorse::test::host {

void launch_crops(const trainer::CropTask* tasks, int count, int size, CUstream_st* stream) {
  trainer::host_launch_crops(tasks, count, size, stream);
}

void launch_normalize(const std::uint8_t* in, void* out, trainer::PixelType type,
                      std::int64_t pixels, const trainer::PixelScale& scale, CUstream_st* stream) {
  trainer::host_launch_normalize(in, out, type, pixels, scale, stream);
}

}  // namespace packhorse::test::host
