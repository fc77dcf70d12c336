#include <algorithm>

#include "input/gpu_decode/crop_kernel.h"
#include "input/kernel_launch.h"

namespace packhorse::trainer {
namespace {

constexpr int kMostSamples = 65'535;  // blocks along z that one launch takes

__global__ void crop(const CropTask* tasks, int size) {
  const int px = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int py = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (px < size && py < size) make_pixel(tasks[blockIdx.z], size, px, py);
}

}  // namespace

void launch_crops(const CropTask* tasks, int count, int size, CUstream_st* stream) {
  const Dim3 threads(32, 8);
  const auto tiles = [&](unsigned side) { return (static_cast<unsigned>(size) + side - 1) / side; };
  for (int first = 0; first < count; first += kMostSamples) {
    const Dim3 blocks(tiles(threads.x), tiles(threads.y),
                      static_cast<unsigned>(std::min(kMostSamples, count - first)));
    launch_kernel(crop, blocks, threads, stream, tasks + first, size);
  }
}

}  // namespace packhorse::trainer
