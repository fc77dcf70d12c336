#pragma once

#include <memory>

#include "input/gpu_decode/batch_decoder.h"
#include "unit/trainer/input/fake_gpu.h"

namespace packhorse::test {

/// What a StubNvJpeg does to those who use it.
struct StubOptions {
  bool hardware = false;  ///< there is an engine for JPEGs
  int fails_at = 0;       ///< the call of nvjpegDecodeBatched that fails, from 1; 0: none
  bool refuses_progressive = true;
};

/// nvJPEG without a GPU: decodes with libjpeg when the fake stream comes to it, refuses some
/// pictures, and blames the machine's user for what NVIDIA's documentation forbids: a state that is
/// used before it is prepared or while it is busy, output that is not the device's memory or too
/// small for the picture, input that changes before it is decoded. One at a time.
class StubNvJpeg {
 public:
  StubNvJpeg(FakeMachine& machine, StubOptions options);
  ~StubNvJpeg();
  StubNvJpeg(const StubNvJpeg&) = delete;
  StubNvJpeg& operator=(const StubNvJpeg&) = delete;

  static const trainer::NvJpegLibrary& library();
  std::size_t decoded() const;  ///< pictures so far
};

/// The fake GPU with a decoder: nvJPEG's stub, and the kernel of the crops run on the host.
class DecodingGpu : public FakeGpu {
 public:
  using Decoder = trainer::BatchDecoder<DecodingGpu>;
  using FakeGpu::FakeGpu;
  std::unique_ptr<Decoder> make_decoder() const { return std::make_unique<Decoder>(*this); }
  const trainer::NvJpegLibrary& nvjpeg() const { return StubNvJpeg::library(); }
  void launch_crops(const trainer::CropTask* tasks, int count, int size,
                    const Stream& stream) const;
};

}  // namespace packhorse::test
