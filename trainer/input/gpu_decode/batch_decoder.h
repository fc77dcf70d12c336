#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <span>
#include <vector>

#include "input/gpu_decode.h"
#include "input/gpu_decode/crop_task.h"
#include "input/gpu_decode/nvjpeg_library.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/decode.h"

/// Decoding of batches by nvJPEG, on a GPU or on what a test has instead of one.
namespace packhorse::trainer {

inline void check_nvjpeg(nvjpegStatus_t status, const char* what) {
  if (status == NVJPEG_STATUS_SUCCESS) return;
  throw Error(ErrorKind::kUnsupported,
              fmt::format("nvJPEG failed: {} (status {})", what, static_cast<int>(status)), {},
              "use `gpu_decode=off`");
}

/// A decoder on the GPU's JPEG engine if it has one, otherwise on its cores.
template <class Stream>
class NvJpeg {
 public:
  explicit NvJpeg(const NvJpegLibrary& library) : library_(library) {
    hardware_ = create(NVJPEG_BACKEND_HARDWARE);
    if (!hardware_ && !create(NVJPEG_BACKEND_GPU_HYBRID)) {
      throw Error(ErrorKind::kUnsupported, "nvJPEG does not start on this GPU", {},
                  "use `gpu_decode=off`");
    }
    check_nvjpeg(library_.stream_create(handle_, &stream_), "creating a stream");
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
              const Stream& stream) {
    const std::size_t calls = (jpegs.size() + kTogether - 1) / kTogether;
    jpegs.resize(calls * kTogether, jpegs.back());
    bytes.resize(calls * kTogether, bytes.back());
    pictures.resize(calls * kTogether, spare);
    if (states_.size() < calls) {
      while (states_.size() < calls) add_state();
      // NVIDIA does not say that a state is prepared in the order of the stream.
      stream.synchronize();
    }
    for (std::size_t call = 0; call < calls; ++call) {
      const std::size_t first = call * kTogether;
      check_nvjpeg(library_.batched(handle_, states_[call], &jpegs[first], &bytes[first],
                                    &pictures[first], stream),
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
    check_nvjpeg(library_.state_create(handle_, &state), "creating a state");
    states_.push_back(state);
    check_nvjpeg(library_.batched_initialize(handle_, state, kTogether, /*max_cpu_threads=*/1,
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

/// Makes pixels of what a loader left encoded. `Gpu` is Cuda (input/cuda.h), or what a test has
/// instead. One thread.
template <class Gpu>
class BatchDecoder {
 public:
  explicit BatchDecoder(Gpu gpu) : gpu_(std::move(gpu)), nvjpeg_(gpu_.nvjpeg()) {}

  /// GpuDecoder::upload(). Its memory is used again: what the last call on this stream but one
  /// queued must be done.
  void upload(const reader::Batch& batch, const at::Tensor& images) {
    sort_out(batch);
    copy_pixels(batch, images);
    if (!places_.empty()) decode(batch, images);
  }

  GpuDecodeCounters counters() const {
    GpuDecodeCounters counters = counters_;
    counters.hardware = nvjpeg_.hardware();
    return counters;
  }

 private:
  static std::span<std::uint8_t> place_of(const reader::Batch& batch, std::size_t place) {
    const std::size_t bytes = batch.images().size() / static_cast<std::size_t>(batch.size());
    return batch.images().subspan(place * bytes, bytes);
  }

  /// Collects the places that nvJPEG takes. Samples that it refuses are decoded here, in place.
  void sort_out(const reader::Batch& batch) {
    places_.clear();
    for (std::size_t place = 0; place < batch.encoded().size(); ++place) {
      const reader::EncodedSample& sample = batch.encoded()[place];
      if (sample.bytes == 0) continue;
      const auto out = place_of(batch, place);
      if (nvjpeg_.takes(out.data(), sample.bytes)) {
        places_.push_back(place);
        continue;
      }
      jpeg_.assign(out.begin(), out.begin() + sample.bytes);
      on_cpu_.decode_left(std::as_bytes(std::span(jpeg_)), sample, batch.width(), out);
      ++counters_.by_cpu;
    }
    counters_.by_gpu += places_.size();
  }

  /// Copies the pixels in runs, between the places that the GPU decodes.
  void copy_pixels(const reader::Batch& batch, const at::Tensor& images) {
    const auto copy = [&](std::size_t from, std::size_t to) {
      if (from == to) return;
      const auto at = static_cast<std::int64_t>(from), count = static_cast<std::int64_t>(to - from);
      const std::span<std::uint8_t> first = place_of(batch, from);
      gpu_.copy(images.narrow(0, at, count),
                at::from_blob(first.data(), {count, images.size(1), images.size(2), 3}, at::kByte));
    };
    std::size_t from = 0;
    for (const std::size_t place : places_) {
      copy(from, place);
      from = place + 1;
    }
    copy(from, static_cast<std::size_t>(batch.size()));
  }

  void decode(const reader::Batch& batch, const at::Tensor& images) {
    make_room(batch);
    std::vector<const unsigned char*> jpegs;
    std::vector<std::size_t> lengths;
    std::vector<nvjpegImage_t> targets;
    auto* const tasks = reinterpret_cast<CropTask*>(host_tasks_.mutable_data_ptr<std::uint8_t>());
    auto* picture = pictures_.mutable_data_ptr<std::uint8_t>();
    auto* const samples = images.mutable_data_ptr<std::uint8_t>();
    const std::int64_t sample_bytes = images.stride(0);
    for (const std::size_t place : places_) {
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
    const auto stream = gpu_.current();
    const int count = static_cast<int>(jpegs.size());
    nvjpegImage_t spare = targets.back();
    spare.channel[0] = picture;
    nvjpeg_.decode(jpegs, lengths, targets, spare, stream);
    gpu_.copy(device_tasks_, host_tasks_);
    gpu_.launch_crops(
        reinterpret_cast<const CropTask*>(device_tasks_.const_data_ptr<std::uint8_t>()), count,
        static_cast<int>(images.size(1)), stream);
  }

  /// Grows the memory to what this batch needs.
  void make_room(const reader::Batch& batch) {
    std::int64_t pixels = 0;
    const auto add = [&](std::size_t place) {
      const reader::EncodedSample& sample = batch.encoded()[place];
      pixels += std::int64_t{3} * sample.width * sample.height;
    };
    for (const std::size_t place : places_) add(place);
    add(places_.back());  // spare
    if (!pictures_.defined() || pictures_.numel() < pixels)
      pictures_ = gpu_.on_device({pixels + pixels / 4}, at::kByte);
    const auto tasks = static_cast<std::int64_t>(places_.size() * sizeof(CropTask));
    if (!host_tasks_.defined() || host_tasks_.numel() < tasks) {
      host_tasks_ = gpu_.pinned({tasks}, at::kByte);
      device_tasks_ = gpu_.on_device({tasks}, at::kByte);
    }
  }

  Gpu gpu_;
  NvJpeg<typename Gpu::Stream> nvjpeg_;
  reader::Decoder on_cpu_;
  std::vector<std::uint8_t> jpeg_;
  at::Tensor pictures_;                   ///< decoded, one behind the other
  at::Tensor host_tasks_, device_tasks_;  ///< CropTask by CropTask
  std::vector<std::size_t> places_;       ///< places that the GPU decodes
  GpuDecodeCounters counters_;
};

}  // namespace packhorse::trainer
