#pragma once

/// Launches kernels, so that .cu files compile as plain C++, too: there a launch goes over its
/// whole grid at once, thread by thread, where sanitizers watch every access.
#ifdef __CUDACC__

#include <cuda_runtime.h>

namespace packhorse::trainer {

using Dim3 = dim3;

template <class... Parameters, class... Arguments>
void launch_kernel(void (*kernel)(Parameters...), Dim3 blocks, Dim3 threads, CUstream_st* stream,
                   Arguments... arguments) {
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
}

}  // namespace packhorse::trainer

#else

#include <stdexcept>

#define __global__

struct CUstream_st;

namespace packhorse::trainer {

struct Dim3 {
  explicit(false) Dim3(unsigned x_in = 1, unsigned y_in = 1, unsigned z_in = 1)
      : x(x_in), y(y_in), z(z_in) {}
  unsigned x, y, z;
};

inline thread_local Dim3 gridDim, blockDim, blockIdx, threadIdx;

/// Throws std::invalid_argument for a grid that no GPU takes. `stream` means nothing here.
template <class... Parameters, class... Arguments>
void launch_kernel(void (*kernel)(Parameters...), Dim3 blocks, Dim3 threads,
                   [[maybe_unused]] CUstream_st* stream, Arguments... arguments) {
  constexpr unsigned kMostBlocks = 65'535, kMostThreads = 1'024, kMostThreadsDeep = 64;
  if (blocks.x == 0 || blocks.x > 0x7FFF'FFFF || blocks.y == 0 || blocks.y > kMostBlocks ||
      blocks.z == 0 || blocks.z > kMostBlocks || threads.x * threads.y * threads.z == 0 ||
      threads.x * threads.y * threads.z > kMostThreads || threads.z > kMostThreadsDeep)
    throw std::invalid_argument("no GPU takes such a grid");
  gridDim = blocks;
  blockDim = threads;
  const auto each = [](Dim3 count, Dim3& at, const auto& then) {
    for (at.z = 0; at.z < count.z; ++at.z)
      for (at.y = 0; at.y < count.y; ++at.y)
        for (at.x = 0; at.x < count.x; ++at.x) then();
  };
  each(blocks, blockIdx, [&] { each(threads, threadIdx, [&] { kernel(arguments...); }); });
}

}  // namespace packhorse::trainer

#endif
