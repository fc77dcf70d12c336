#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "loader/batch_fields.h"
#include "loader/composer.h"
#include "loader/ring.h"
#include "loader/targets_reader.h"
#include "order/passes.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/decode.h"
#include "packhorse/reader/loader.h"
#include "pixel_format/pixel_writer.h"

namespace packhorse::reader {

/// Pixels of an image of the first view.
std::size_t pixels_of_image(const LoaderOptions& options);
/// Channels of these pixels: those of `bands`, or 3.
std::size_t channels_of(const BandChoice& bands);
/// Where the images of each view lie in a slot.
std::vector<ViewPlace> view_places(const LoaderOptions& options, const BandChoice& bands);
/// The bytes of a slot with these views.
std::size_t bytes_of_slot(const std::vector<ViewPlace>& views, std::int64_t batch_size);
/// How many places of a batch are left encoded where possible: the first ones.
std::size_t places_left_encoded(const LoaderOptions& options);

/// Makes samples in their places of a slot: reads, decodes, and puts their targets where the crop
/// was put. What is done about one that fails is the loader's business. One thread makes samples;
/// any may ask for the counters.
class SampleMaker {
 public:
  using Clock = std::chrono::steady_clock;

  /// What all makers of a loader work with. It outlives them, and does not change.
  struct Shared {
    const Dataset& dataset;
    const LoaderOptions& options;
    const BandChoice& bands;
    const std::vector<ViewPlace>& views;
    const PixelWriter& writer;
    const TargetsReader* targets;  ///< null where none are read
    const FieldsReader* fields;    ///< null where none are read
  };
  /// Says which sample takes the place of `failed`, which was to be seen beside the sample itself
  /// and failed after `attempt` others; or throws.
  using ReplaceBeside =
      std::function<std::uint64_t(std::uint64_t failed, int attempt, const Error&)>;

  SampleMaker(const Shared& shared, ReplaceBeside replace_beside);
  SampleMaker(const SampleMaker&) = delete;
  SampleMaker& operator=(const SampleMaker&) = delete;

  /// Throws what reading and decoding throw, and what replace_beside() throws.
  void make(Ring::Slot& slot, std::size_t place, Draw draw, std::uint64_t epoch);
  /// Leaves a place without a sample, for BadSamplePolicy::kLeaveOut.
  void leave_out(Ring::Slot& slot, std::size_t place) const;
  /// Adds its bytes and the time it took to read and to decode.
  void add_to(LoaderCounters& total) const;

 private:
  void read_and_make(Ring::Slot& slot, std::size_t place, std::uint64_t sample,
                     SampleRandom random);
  void make_pixels(Ring::Slot& slot, std::size_t place, std::uint64_t sample, SampleRandom random,
                   Bytes bytes);
  void place_targets(PlacedTargets& to, std::uint64_t sample, SampleRandom random, Bytes bytes);
  void compose(Ring::Slot& slot, std::size_t place, std::uint64_t sample, SampleRandom random,
               std::uint64_t epoch);
  std::span<std::uint8_t> pixels_of(Ring::Slot& slot, std::size_t place,
                                    std::size_t view = 0) const;
  void read_fields(Ring::Slot& slot, std::size_t place, std::uint64_t sample);
  void call_hook(const Ring::Slot& slot, std::size_t place, ImageSize size, SampleRandom random,
                 std::span<std::uint8_t> pixels) const;
  void stage_end(Stage stage, Clock::time_point begin, Clock::time_point end, std::uint64_t bytes);

  const Dataset& dataset_;
  const LoaderOptions& options_;
  const PixelWriter& writer_;
  const TargetsReader* targets_;
  const FieldsReader* fields_;
  ReplaceBeside replace_beside_;
  const std::vector<ViewPlace>& views_;
  std::size_t encoded_places_;
  Decoder decoder_;
  std::optional<Composer> composer_;  ///< for a DetectionAugment
  std::vector<std::byte> bytes_, field_;
  std::vector<CropRequest> crops_;    ///< the views of a sample
  std::vector<std::uint8_t> pixels_;  ///< these, decoded, where the batch holds other numbers
  PlacedTargets none_;                ///< for a DetectionAugment without targets
  std::atomic<std::uint64_t> bytes_read_{0}, read_ns_{0}, decode_ns_{0};
};

inline std::uint64_t ns_between(std::chrono::steady_clock::time_point begin,
                                std::chrono::steady_clock::time_point end) {
  return static_cast<std::uint64_t>((end - begin) / std::chrono::nanoseconds(1));
}

inline std::uint64_t ns_since(std::chrono::steady_clock::time_point begin) {
  return ns_between(begin, std::chrono::steady_clock::now());
}

/// Adds to a counter that only the caller writes, so no read-modify-write is needed.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t value) {
  counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

}  // namespace packhorse::reader
