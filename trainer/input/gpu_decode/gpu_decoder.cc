#include "input/gpu_decode.h"
#include "packhorse/base/error.h"

#ifdef PACKHORSE_WITH_NVJPEG

#include <c10/cuda/CUDAGuard.h>

#include "input/cuda.h"
#include "input/gpu_decode/batch_decoder.h"

namespace packhorse::trainer {

struct GpuDecoder::Impl {
  explicit Impl(int index) : decoder(Cuda(index)) {}
  BatchDecoder<Cuda> decoder;
};

GpuDecoder::GpuDecoder(const Device& device) {
  if (!device.is_cuda()) {
    throw Error(ErrorKind::kUnsupported, "there is no GPU to decode on", {},
                "use `gpu_decode=off`");
  }
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device.index));
  impl_ = std::make_unique<Impl>(device.index);
}

void GpuDecoder::upload(const reader::Batch& batch, const at::Tensor& images) {
  impl_->decoder.upload(batch, images);
}

GpuDecodeCounters GpuDecoder::counters() const { return impl_->decoder.counters(); }

}  // namespace packhorse::trainer

#else

namespace packhorse::trainer {

struct GpuDecoder::Impl {};

GpuDecoder::GpuDecoder(const Device&) {
  throw Error(ErrorKind::kUnsupported, "this build of packhorse cannot decode on a GPU", {},
              "build it where nvcc and nvJPEG's header are installed, or use `gpu_decode=off`");
}
void GpuDecoder::upload(const reader::Batch&, const at::Tensor&) {}
GpuDecodeCounters GpuDecoder::counters() const { return {}; }

}  // namespace packhorse::trainer

#endif

namespace packhorse::trainer {

GpuDecoder::~GpuDecoder() = default;

}  // namespace packhorse::trainer
