#include "input/normalize.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "input/normalize_kernel.h"
#include "packhorse/base/error.h"

#ifdef PACKHORSE_WITH_CUDA
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace packhorse::trainer {
namespace {

// A byte has 256 values: each is normalised once, in double, and then looked up.
template <class T>
void normalize_cpu(const std::uint8_t* in, T* out, std::int64_t pixels,
                   const Normalization& normalization) {
  std::array<std::array<T, 256>, 3> table;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t x = 0; x < 256; ++x) {
      table[c][x] = static_cast<T>(static_cast<float>(
          (static_cast<double>(x) / 255 - normalization.mean[c]) / normalization.stddev[c]));
    }
  }
  at::parallel_for(0, pixels, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 3 * begin; i < 3 * end; i += 3) {
      for (std::size_t c = 0; c < 3; ++c) {
        const auto at = static_cast<std::size_t>(i) + c;
        out[at] = table[c][in[at]];
      }
    }
  });
}

#ifdef PACKHORSE_WITH_CUDA
void normalize_cuda(const at::Tensor& images, const at::Tensor& out,
                    const Normalization& normalization) {
  PixelScale scale;
  for (std::size_t c = 0; c < 3; ++c) {
    scale.factor[c] = static_cast<float>(1 / (255 * normalization.stddev[c]));
    scale.offset[c] = static_cast<float>(-normalization.mean[c] / normalization.stddev[c]);
  }
  const PixelType type = out.scalar_type() == at::kFloat  ? PixelType::kFloat32
                         : out.scalar_type() == at::kHalf ? PixelType::kFloat16
                                                          : PixelType::kBFloat16;
  const c10::cuda::CUDAGuard guard(images.device());
  launch_normalize(images.const_data_ptr<std::uint8_t>(), out.mutable_data_ptr(), type,
                   images.numel() / 3, scale, c10::cuda::getCurrentCUDAStream());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
#endif

// Replaces the kernel in builds without nvcc: LibTorch's own operators, in more passes over the
// memory.
at::Tensor normalize_by_operators(const at::Tensor& images, const Normalization& normalization,
                                  at::ScalarType dtype) {
  const auto options = images.options().dtype(at::kFloat);
  const auto mean = at::tensor(at::ArrayRef<double>(normalization.mean), options);
  const auto stddev = at::tensor(at::ArrayRef<double>(normalization.stddev), options);
  const auto scaled = images.scalar_type() == at::kByte ? images.to(at::kFloat).div_(255) : images;
  return scaled.sub(mean).div_(stddev).to(dtype).permute({0, 3, 1, 2});
}

}  // namespace

at::Tensor normalize(const at::Tensor& images, const Normalization& normalization,
                     at::ScalarType dtype) {
  const bool floats = images.scalar_type() == at::kFloat;
  const auto channels = static_cast<std::int64_t>(normalization.mean.size());
  if ((images.scalar_type() != at::kByte && !floats) || images.dim() != 4 ||
      images.size(3) != channels || (!floats && channels != 3) || !images.is_contiguous()) {
    throw Error(ErrorKind::kUsage,
                "normalize() takes contiguous pictures, uint8 [B, H, W, 3] or float, of as many "
                "channels as means");
  }
  if (dtype != at::kFloat && dtype != at::kHalf && dtype != at::kBFloat16) {
    throw Error(ErrorKind::kUsage, "normalize() gives float32, float16 or bfloat16");
  }
  if (floats) return normalize_by_operators(images, normalization, dtype);
#ifndef PACKHORSE_WITH_CUDA
  if (!images.is_cpu()) return normalize_by_operators(images, normalization, dtype);
#endif
  at::Tensor out =
      at::empty({images.size(0), 3, images.size(1), images.size(2)},
                images.options().dtype(dtype).memory_format(at::MemoryFormat::ChannelsLast));
#ifdef PACKHORSE_WITH_CUDA
  if (images.is_cuda()) {
    normalize_cuda(images, out, normalization);
    return out;
  }
#endif
  const auto* in = images.const_data_ptr<std::uint8_t>();
  const std::int64_t pixels = images.numel() / 3;
  if (dtype == at::kFloat) {
    normalize_cpu(in, out.mutable_data_ptr<float>(), pixels, normalization);
  } else if (dtype == at::kHalf) {
    normalize_cpu(in, out.mutable_data_ptr<at::Half>(), pixels, normalization);
  } else {
    normalize_cpu(in, out.mutable_data_ptr<at::BFloat16>(), pixels, normalization);
  }
  return out;
}

}  // namespace packhorse::trainer
