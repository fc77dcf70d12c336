#include <cuda_runtime.h>

#include "input/gpu_decode/crop_kernel.h"

namespace packhorse::trainer {
namespace {

__global__ void crop(const CropTask* tasks, int size) {
  const int px = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int py = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (px < size && py < size) make_pixel(tasks[blockIdx.z], size, px, py);
}

}  // namespace

void launch_crops(const CropTask* tasks, int count, int size, CUstream_st* stream) {
  if (count == 0) return;
  const dim3 threads(32, 8);
  const auto tiles = [&](unsigned side) { return (static_cast<unsigned>(size) + side - 1) / side; };
  const dim3 blocks(tiles(threads.x), tiles(threads.y), static_cast<unsigned>(count));
  crop<<<blocks, threads, 0, stream>>>(tasks, size);
}

}  // namespace packhorse::trainer
