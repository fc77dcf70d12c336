#include "input/prefetcher_impl.h"
#include "packhorse/base/error.h"

#ifdef PACKHORSE_TORCH_HAS_CUDA

#include "input/cuda.h"
#include "input/upload_prefetcher.h"

namespace packhorse::trainer {

std::unique_ptr<Prefetcher::Impl> make_upload_prefetcher(reader::Loader& loader,
                                                         const Device& device, int depth) {
  return std::make_unique<UploadPrefetcher<Cuda>>(loader, Cuda(device.index), depth);
}

}  // namespace packhorse::trainer

#else

namespace packhorse::trainer {

std::unique_ptr<Prefetcher::Impl> make_upload_prefetcher(reader::Loader&, const Device&, int) {
  throw Error(ErrorKind::kUnsupported, "this build of packhorse has no CUDA", {},
              "build it with a LibTorch that has CUDA, or use `device=cpu`");
}

}  // namespace packhorse::trainer

#endif
