#pragma once

#include "input/gpu_decode/crop_kernel.h"
#include "input/normalize_kernel.h"

/// The kernels, compiled for the host. The streams mean nothing.
namespace packhorse::test::host {

void launch_crops(const trainer::CropTask* tasks, int count, int size, CUstream_st* stream);
void launch_normalize(const std::uint8_t* in, void* out, trainer::PixelType type,
                      std::int64_t pixels, const trainer::PixelScale& scale, CUstream_st* stream);

}  // namespace packhorse::test::host
