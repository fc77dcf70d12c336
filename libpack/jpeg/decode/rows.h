#pragma once

#include <cstdint>

#include "jpeg/decode/buffer.h"
#include "packhorse/jpeg/decoder.h"

namespace packhorse::jpeg {

/// Says where each row of pixels goes: into an output, or into a few rows of memory that are handed
/// to a sink whenever they are full. One thread.
class RowWriter {
 public:
  /// The arguments must outlive this.
  explicit RowWriter(const Output& output) : next_(output.pixels.data()), stride_(output.stride) {}
  RowWriter(RowSink& sink, const Window& window, Buffer<std::uint8_t>& memory);

  /// Room for the next row.
  std::uint8_t* row() const { return next_; }
  /// Call when that row has been written.
  void done() {
    next_ += stride_;
    if (sink_ == nullptr) return;
    ++held_;
    if (held_ == kBand || held_ == left_) hand_over();
  }

 private:
  static constexpr std::uint32_t kBand = 8;
  void hand_over();

  RowSink* sink_ = nullptr;
  std::uint8_t* band_ = nullptr;
  std::uint8_t* next_;
  std::size_t stride_;
  std::uint32_t held_ = 0, left_ = 0;  // rows of the band; of the window from the band's first on
};

}  // namespace packhorse::jpeg
