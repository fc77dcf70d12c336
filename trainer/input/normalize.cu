#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#endif

#include <algorithm>

#include "input/kernel_launch.h"
#include "input/normalize_math.h"

namespace packhorse::trainer {
namespace {

#ifdef __CUDACC__
using Half = __half;
using BFloat16 = __nv_bfloat16;
#else
using Half = c10::Half;
using BFloat16 = c10::BFloat16;
#endif

template <class T>
__global__ void normalize(const std::uint8_t* __restrict__ in, T* __restrict__ out,
                          std::int64_t values, std::int64_t vectors, PixelScale scale) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < vectors; i += stride) normalize_vector(in, out, i, scale);
  for (std::int64_t i = kVector * vectors + first; i < values; i += stride) {
    normalize_value(in, out, i, scale);
  }
}

template <class T>
void launch(const std::uint8_t* in, void* out, std::int64_t pixels, const PixelScale& scale,
            CUstream_st* stream) {
  constexpr unsigned kThreads = 256;
  constexpr std::int64_t kMaxBlocks = 16 * 132;  // 16 per multiprocessor of a large GPU
  if (pixels == 0) return;
  const std::int64_t values = 3 * pixels, vectors = whole_vectors(in, out, values);
  const std::int64_t items = std::max(vectors, values - kVector * vectors);
  const auto blocks =
      static_cast<unsigned>(std::min((items + kThreads - 1) / kThreads, kMaxBlocks));
  launch_kernel(normalize<T>, blocks, kThreads, stream, in, static_cast<T*>(out), values, vectors,
                scale);
}

}  // namespace

void launch_normalize(const std::uint8_t* in, void* out, PixelType type, std::int64_t pixels,
                      const PixelScale& scale, CUstream_st* stream) {
  switch (type) {
    case PixelType::kFloat32:
      return launch<float>(in, out, pixels, scale, stream);
    case PixelType::kFloat16:
      return launch<Half>(in, out, pixels, scale, stream);
    case PixelType::kBFloat16:
      return launch<BFloat16>(in, out, pixels, scale, stream);
  }
}

}  // namespace packhorse::trainer
