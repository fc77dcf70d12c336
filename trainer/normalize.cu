#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "normalize_kernel.h"

namespace packhorse::trainer {
namespace {

template <class T>
__global__ void normalize(const std::uint8_t* __restrict__ in, T* __restrict__ out,
                          std::int64_t pixels, PixelScale scale) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < pixels;
       i += stride) {
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      out[3 * i + c] =
          static_cast<T>(static_cast<float>(in[3 * i + c]) * scale.factor[c] + scale.offset[c]);
    }
  }
}

template <class T>
void launch(const std::uint8_t* in, void* out, std::int64_t pixels, const PixelScale& scale,
            cudaStream_t stream) {
  constexpr int kThreads = 256;
  constexpr std::int64_t kMaxBlocks = 16 * 132;  // 16 for each multiprocessor of a large GPU
  if (pixels == 0) return;
  const auto blocks =
      static_cast<unsigned>(std::min((pixels + kThreads - 1) / kThreads, kMaxBlocks));
  normalize<T><<<blocks, kThreads, 0, stream>>>(in, static_cast<T*>(out), pixels, scale);
}

}  // namespace

void launch_normalize(const std::uint8_t* in, void* out, PixelType type, std::int64_t pixels,
                      const PixelScale& scale, CUstream_st* stream) {
  switch (type) {
    case PixelType::kFloat32:
      return launch<float>(in, out, pixels, scale, stream);
    case PixelType::kFloat16:
      return launch<__half>(in, out, pixels, scale, stream);
    case PixelType::kBFloat16:
      return launch<__nv_bfloat16>(in, out, pixels, scale, stream);
  }
}

}  // namespace packhorse::trainer
