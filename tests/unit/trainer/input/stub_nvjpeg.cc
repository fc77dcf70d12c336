#include "unit/trainer/input/stub_nvjpeg.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "packhorse/image/image_info.h"
#include "support/pictures.h"
#include "unit/trainer/input/host_kernels.h"

namespace packhorse::test {
namespace {

struct Shared {
  FakeMachine* machine;
  StubOptions options;
  int calls = 0;
  std::atomic<std::size_t> decoded = 0;
};
std::unique_ptr<Shared> shared;

/// What nvJPEG's handles point to.
struct State {
  int batch = 0;  ///< 0: not prepared
  FakeStream* on = nullptr;
  std::uint64_t busy_until = 0;
};
struct Parsed {
  bool progressive = false;
};

State* of(nvjpegJpegState_t state) { return reinterpret_cast<State*>(state); }
Parsed* of(nvjpegJpegStream_t stream) { return reinterpret_cast<Parsed*>(stream); }

bool is_busy(const State& state) {
  return state.on != nullptr && !state.on->done(state.busy_until);
}

/// The place of a frame's header: its marker is SOF0 or SOF2.
struct Frame {
  int width = 0, height = 0;
  bool progressive = false;
};
Frame frame_of(const unsigned char* data, std::size_t length) {
  for (std::size_t at = 2; at + 9 < length;) {
    const int marker = data[at + 1];
    if (marker == 0xC0 || marker == 0xC2) {
      return {.width = 256 * data[at + 7] + data[at + 8],
              .height = 256 * data[at + 5] + data[at + 6],
              .progressive = marker == 0xC2};
    }
    at += 2 + 256U * data[at + 2] + data[at + 3];
  }
  return {};
}

std::size_t hash_of(const unsigned char* data, std::size_t length) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(data), length});
}

nvjpegStatus_t create(nvjpegBackend_t backend, nvjpegDevAllocator_t*, nvjpegPinnedAllocator_t*,
                      unsigned, nvjpegHandle_t* handle) {
  if (backend == NVJPEG_BACKEND_HARDWARE && !shared->options.hardware)
    return NVJPEG_STATUS_ARCH_MISMATCH;
  *handle = reinterpret_cast<nvjpegHandle_t>(shared.get());
  return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t decode(nvjpegHandle_t, nvjpegJpegState_t handle, const unsigned char* const* data,
                      const std::size_t* lengths, nvjpegImage_t* targets, cudaStream_t to) {
  FakeMachine& machine = *shared->machine;
  State& state = *of(handle);
  if (state.batch == 0) machine.blame("a state is used that was not prepared");
  if (is_busy(state)) machine.blame("a state is used that is busy");
  if (++shared->calls == shared->options.fails_at) return NVJPEG_STATUS_EXECUTION_FAILED;
  state.on = reinterpret_cast<FakeStream*>(to);
  for (int i = 0; i < state.batch; ++i) {
    const unsigned char* const jpeg = data[i];
    const std::size_t length = lengths[i];
    const nvjpegImage_t target = targets[i];
    const Frame frame = frame_of(jpeg, length);
    const auto row = static_cast<std::size_t>(3 * frame.width);
    const auto rows = static_cast<std::size_t>(frame.height);
    if (target.pitch[0] < row) machine.blame("the rows of a picture overlap");
    if (!machine.holds(target.channel[0], target.pitch[0] * (rows - 1) + row))
      machine.blame("a picture is decoded to where there is no memory");
    state.busy_until = state.on->queue([=, &machine, hash = hash_of(jpeg, length)] {
      if (hash_of(jpeg, length) != hash) {
        machine.blame("a JPEG changed before it was decoded");
        return;
      }
      const Picture picture =
          decode_plainly({reinterpret_cast<const std::byte*>(jpeg), length}, Colours::kRgb);
      for (std::size_t y = 0; y < rows; ++y)
        std::memcpy(target.channel[0] + y * target.pitch[0], picture.pixels.data() + y * row, row);
      ++shared->decoded;
    });
  }
  return NVJPEG_STATUS_SUCCESS;
}

}  // namespace

StubNvJpeg::StubNvJpeg(FakeMachine& machine, StubOptions options) {
  shared = std::make_unique<Shared>(&machine, options);
}
StubNvJpeg::~StubNvJpeg() { shared.reset(); }

std::size_t StubNvJpeg::decoded() const { return shared->decoded; }

const trainer::NvJpegLibrary& StubNvJpeg::library() {
  static const trainer::NvJpegLibrary kLibrary{
      .create_ex = create,
      .destroy = [](nvjpegHandle_t) { return NVJPEG_STATUS_SUCCESS; },
      .state_create =
          [](nvjpegHandle_t, nvjpegJpegState_t* state) {
            *state = reinterpret_cast<nvjpegJpegState_t>(new State);
            return NVJPEG_STATUS_SUCCESS;
          },
      .state_destroy =
          [](nvjpegJpegState_t state) {
            if (is_busy(*of(state))) shared->machine->blame("a state is destroyed that is busy");
            delete of(state);
            return NVJPEG_STATUS_SUCCESS;
          },
      .stream_create =
          [](nvjpegHandle_t, nvjpegJpegStream_t* stream) {
            *stream = reinterpret_cast<nvjpegJpegStream_t>(new Parsed);
            return NVJPEG_STATUS_SUCCESS;
          },
      .stream_destroy =
          [](nvjpegJpegStream_t stream) {
            delete of(stream);
            return NVJPEG_STATUS_SUCCESS;
          },
      .stream_parse =
          [](nvjpegHandle_t, const unsigned char* data, std::size_t length, int, int,
             nvjpegJpegStream_t stream) {
            const Frame frame = frame_of(data, length);
            of(stream)->progressive = frame.progressive;
            return frame.width > 0 ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_BAD_JPEG;
          },
      .batched_supported =
          [](nvjpegHandle_t, nvjpegJpegStream_t stream, int* refused) {
            *refused = of(stream)->progressive && shared->options.refuses_progressive ? 1 : 0;
            return NVJPEG_STATUS_SUCCESS;
          },
      .batched_initialize =
          [](nvjpegHandle_t, nvjpegJpegState_t state, int batch, int, nvjpegOutputFormat_t format) {
            if (is_busy(*of(state))) shared->machine->blame("a state is prepared that is busy");
            if (format != NVJPEG_OUTPUT_RGBI)
              shared->machine->blame("the stub knows interleaved RGB only");
            of(state)->batch = batch;
            return NVJPEG_STATUS_SUCCESS;
          },
      .batched = decode};
  return kLibrary;
}

void DecodingGpu::launch_crops(const trainer::CropTask* tasks, int count, int size,
                               const Stream& stream) const {
  stream.get().queue([=] { host::launch_crops(tasks, count, size, nullptr); });
}

}  // namespace packhorse::test
