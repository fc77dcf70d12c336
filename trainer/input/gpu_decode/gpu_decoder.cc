#include "packhorse/base/error.h"
#include "packhorse/reader/decode.h"
#include "packhorse/trainer/input/gpu_decode.h"

#ifdef PACKHORSE_WITH_NVJPEG

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "input/gpu_decode/crop_kernel.h"
#include "input/gpu_decode/crop_task.h"
#include "input/gpu_decode/nvjpeg_library.h"

namespace packhorse::trainer {
namespace {

void check(nvjpegStatus_t status, const char* what) {
  if (status == NVJPEG_STATUS_SUCCESS) return;
  throw Error(ErrorKind::kUnsupported,
              fmt::format("nvJPEG failed: {} (status {})", what, static_cast<int>(status)), {},
              "use --gpu-decode off");
}

/// A decoder on the GPU's JPEG engine if it has one, otherwise on its cores.
class NvJpeg {
 public:
  NvJpeg() : library_(NvJpegLibrary::get()) {
    hardware_ = create(NVJPEG_BACKEND_HARDWARE);
    if (!hardware_ && !create(NVJPEG_BACKEND_GPU_HYBRID)) {
      throw Error(ErrorKind::kUnsupported, "nvJPEG does not start on this GPU", {},
                  "use --gpu-decode off");
    }
    check(library_.stream_create(handle_, &stream_), "creating a stream");
  }
  ~NvJpeg() {
    if (stream_ != nullptr) library_.stream_destroy(stream_);
    for (const nvjpegJpegState_t state : states_) library_.state_destroy(state);
    if (handle_ != nullptr) library_.destroy(handle_);
  }
  NvJpeg(const NvJpeg&) = delete;
  NvJpeg& operator=(const NvJpeg&) = delete;

  bool hardware() const { return hardware_; }

  /// Whether this JPEG can be part of a batch.
  bool takes(const unsigned char* jpeg, std::size_t bytes) {
    if (library_.stream_parse(handle_, jpeg, bytes, 0, 0, stream_) != NVJPEG_STATUS_SUCCESS)
      return false;
    int refused = 1;
    return library_.batched_supported(handle_, stream_, &refused) == NVJPEG_STATUS_SUCCESS &&
           refused == 0;
  }

  /// Queues the decoding of these JPEGs. `spare` must have room for the last picture once more: the
  /// lists are padded to a multiple of kTogether by repeating it.
  void decode(std::vector<const unsigned char*>& jpegs, std::vector<std::size_t>& bytes,
              std::vector<nvjpegImage_t>& pictures, const nvjpegImage_t& spare,
              cudaStream_t stream) {
    const std::size_t calls = (jpegs.size() + kTogether - 1) / kTogether;
    jpegs.resize(calls * kTogether, jpegs.back());
    bytes.resize(calls * kTogether, bytes.back());
    pictures.resize(calls * kTogether, spare);
    if (states_.size() < calls) {
      while (states_.size() < calls) add_state();
      // On Hopper the engine's first batch has been seen to write before the work queued earlier is
      // done.
      C10_CUDA_CHECK(cudaStreamSynchronize(stream));
    }
    for (std::size_t call = 0; call < calls; ++call) {
      const std::size_t first = call * kTogether;
      check(library_.batched(handle_, states_[call], &jpegs[first], &bytes[first], &pictures[first],
                             stream),
            "decoding a batch");
    }
  }

 private:
  /// Pictures in one call of nvJPEG. Each call of a batch has a state that is prepared once.
  /// Preparing a new one waits for the GPU, which would happen whenever a batch has another number
  /// of JPEGs; and a state is busy until the GPU is done with its pictures.
  static constexpr std::size_t kTogether = 32;

  void add_state() {
    nvjpegJpegState_t state = nullptr;
    check(library_.state_create(handle_, &state), "creating a state");
    states_.push_back(state);
    check(library_.batched_initialize(handle_, state, kTogether, /*max_cpu_threads=*/1,
                                      NVJPEG_OUTPUT_RGBI),
          "preparing a state");
  }

  bool create(nvjpegBackend_t backend) {
    return library_.create_ex(backend, nullptr, nullptr, 0, &handle_) == NVJPEG_STATUS_SUCCESS;
  }

  const NvJpegLibrary& library_;
  bool hardware_ = false;
  nvjpegHandle_t handle_ = nullptr;
  std::vector<nvjpegJpegState_t> states_;  ///< by the number of the call within a batch
  nvjpegJpegStream_t stream_ = nullptr;
};

}  // namespace

struct GpuDecoder::Impl {
  Impl(const Device& device_in, std::int64_t batch_size)
      : device(at::kCUDA, static_cast<c10::DeviceIndex>(device_in.index)) {
    const auto bytes = batch_size * static_cast<std::int64_t>(sizeof(CropTask));
    host_tasks = at::empty({bytes}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
    device_tasks = at::empty({bytes}, at::TensorOptions(device).dtype(at::kByte));
  }

  /// Collects the places that nvJPEG takes. Samples that it refuses are decoded here, in place.
  void sort_out(const reader::Batch& batch);
  void copy_pixels(const reader::Batch& batch, const at::Tensor& images) const;
  void decode(const reader::Batch& batch, const at::Tensor& images);

  std::span<std::uint8_t> place_of(const reader::Batch& batch, std::size_t place) const {
    const std::size_t bytes = batch.images().size() / static_cast<std::size_t>(batch.size());
    return batch.images().subspan(place * bytes, bytes);
  }

  at::Device device;
  NvJpeg nvjpeg;
  reader::Decoder on_cpu;
  std::vector<std::uint8_t> jpeg;
  at::Tensor pictures;                  ///< decoded, one behind the other; grows
  at::Tensor host_tasks, device_tasks;  ///< CropTask by CropTask
  std::vector<std::size_t> places;      ///< places that the GPU decodes
  GpuDecodeCounters counters;
};

void GpuDecoder::Impl::sort_out(const reader::Batch& batch) {
  places.clear();
  const auto size =
      static_cast<int>(std::lround(std::sqrt(static_cast<double>(place_of(batch, 0).size() / 3))));
  for (std::size_t place = 0; place < batch.encoded().size(); ++place) {
    const reader::EncodedSample& sample = batch.encoded()[place];
    if (sample.bytes == 0) continue;
    const auto out = place_of(batch, place);
    if (nvjpeg.takes(out.data(), sample.bytes)) {
      places.push_back(place);
      continue;
    }
    jpeg.assign(out.begin(), out.begin() + sample.bytes);
    on_cpu.decode_left(std::as_bytes(std::span(jpeg)), sample, size, out);
    ++counters.by_cpu;
  }
  counters.by_gpu += places.size();
}

// Copies the pixels in runs, between the places that the GPU decodes.
void GpuDecoder::Impl::copy_pixels(const reader::Batch& batch, const at::Tensor& images) const {
  const auto copy = [&](std::size_t from, std::size_t to) {
    if (from == to) return;
    const auto at = static_cast<std::int64_t>(from), count = static_cast<std::int64_t>(to - from);
    const std::span<std::uint8_t> first = place_of(batch, from);
    const auto host =
        at::from_blob(first.data(), {count, images.size(1), images.size(2), 3}, at::kByte);
    images.narrow(0, at, count).copy_(host, /*non_blocking=*/true);
  };
  std::size_t from = 0;
  for (const std::size_t place : places) {
    copy(from, place);
    from = place + 1;
  }
  copy(from, static_cast<std::size_t>(batch.size()));
}

void GpuDecoder::Impl::decode(const reader::Batch& batch, const at::Tensor& images) {
  if (places.empty()) return;
  std::int64_t bytes = 0;
  for (const std::size_t place : places) {
    const reader::EncodedSample& sample = batch.encoded()[place];
    bytes += std::int64_t{3} * sample.width * sample.height;
  }
  const reader::EncodedSample& last = batch.encoded()[places.back()];
  bytes += std::int64_t{3} * last.width * last.height;  // spare
  if (!pictures.defined() || pictures.numel() < bytes)
    pictures = at::empty({bytes + bytes / 4}, at::TensorOptions(device).dtype(at::kByte));

  std::vector<const unsigned char*> jpegs;
  std::vector<std::size_t> lengths;
  std::vector<nvjpegImage_t> targets;
  auto* const tasks = reinterpret_cast<CropTask*>(host_tasks.mutable_data_ptr<std::uint8_t>());
  auto* picture = pictures.mutable_data_ptr<std::uint8_t>();
  auto* const samples = images.mutable_data_ptr<std::uint8_t>();
  const std::int64_t sample_bytes = images.stride(0);
  for (const std::size_t place : places) {
    const reader::EncodedSample& sample = batch.encoded()[place];
    const int stride = 3 * sample.width;
    nvjpegImage_t target{};
    target.channel[0] = picture;
    target.pitch[0] = static_cast<std::size_t>(stride);
    tasks[jpegs.size()] = crop_task(sample.plan, picture, stride,
                                    samples + static_cast<std::int64_t>(place) * sample_bytes);
    jpegs.push_back(place_of(batch, place).data());
    lengths.push_back(sample.bytes);
    targets.push_back(target);
    picture += std::int64_t{stride} * sample.height;
  }
  const auto stream = c10::cuda::getCurrentCUDAStream(device.index());
  const int count = static_cast<int>(jpegs.size());
  nvjpegImage_t spare = targets.back();
  spare.channel[0] = picture;
  nvjpeg.decode(jpegs, lengths, targets, spare, stream);
  device_tasks.copy_(host_tasks, /*non_blocking=*/true);
  launch_crops(reinterpret_cast<const CropTask*>(device_tasks.const_data_ptr<std::uint8_t>()),
               count, static_cast<int>(images.size(1)), stream);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

GpuDecoder::GpuDecoder(const Device& device, std::int64_t batch_size) {
  if (!device.is_cuda()) {
    throw Error(ErrorKind::kUnsupported, "there is no GPU to decode on", {},
                "use --gpu-decode off");
  }
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device.index));
  impl_ = std::make_unique<Impl>(device, batch_size);
}

void GpuDecoder::upload(const reader::Batch& batch, const at::Tensor& images) {
  impl_->sort_out(batch);
  impl_->copy_pixels(batch, images);
  impl_->decode(batch, images);
}

GpuDecodeCounters GpuDecoder::counters() const {
  GpuDecodeCounters counters = impl_->counters;
  counters.hardware = impl_->nvjpeg.hardware();
  return counters;
}

}  // namespace packhorse::trainer

#else

namespace packhorse::trainer {

struct GpuDecoder::Impl {};

GpuDecoder::GpuDecoder(const Device&, std::int64_t) {
  throw Error(ErrorKind::kUnsupported, "this build of packhorse cannot decode on a GPU", {},
              "build it where nvcc and nvJPEG's header are installed, or use --gpu-decode off");
}
void GpuDecoder::upload(const reader::Batch&, const at::Tensor&) {}
GpuDecodeCounters GpuDecoder::counters() const { return {}; }

}  // namespace packhorse::trainer

#endif

namespace packhorse::trainer {

GpuDecoder::~GpuDecoder() = default;

}  // namespace packhorse::trainer
