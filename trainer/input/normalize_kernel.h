#pragma once

#include <cstdint>

struct CUstream_st;

/// The interface of normalize.cu, without LibTorch: nvcc then takes two seconds instead of half a
/// minute.
namespace packhorse::trainer {

/// y = x * factor + offset, per channel.
struct PixelScale {
  float factor[3];
  float offset[3];
};

enum class PixelType { kFloat32, kFloat16, kBFloat16 };

/// Queues the kernel on `stream`. Reads `pixels` times three bytes and writes as many numbers of
/// `type`, all in device memory. Launch errors stay in cudaGetLastError().
void launch_normalize(const std::uint8_t* in, void* out, PixelType type, std::int64_t pixels,
                      const PixelScale& scale, CUstream_st* stream);

}  // namespace packhorse::trainer
