#pragma once

#include "input/gpu_decode/crop_math.h"

struct CUstream_st;

/// The interface of crop_kernel.cu, without LibTorch.
namespace packhorse::trainer {

/// Queues make_pixel() for every pixel of `count` samples of size x size. `tasks` lies on the
/// device. Launch errors stay in cudaGetLastError().
void launch_crops(const CropTask* tasks, int count, int size, CUstream_st* stream);

}  // namespace packhorse::trainer
