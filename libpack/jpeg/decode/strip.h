#pragma once

#include <array>
#include <cstdint>

#include "jpeg/decode/buffer.h"
#include "jpeg/decode/frame.h"
#include "jpeg/kernels/kernels.h"
#include "packhorse/jpeg/decoder.h"

namespace packhorse::jpeg {

/// MCUs, [left, right) x [top, bottom).
struct McuRange {
  std::uint32_t left = 0, right = 0, top = 0, bottom = 0;
};

/// The MCUs that a window's pixels depend on: chroma is interpolated from its neighbours.
McuRange needed_mcus(const Frame& frame, const Window& window);

/// The samples of some rows of MCUs, and the pixels made of them. The last row of samples is kept
/// for the next rows of MCUs, so that a picture can be processed from top to bottom. One thread.
class Strip {
 public:
  /// Begins a picture. `rows`: the most rows of MCUs at a time. `frame` and `kernels` must stay.
  void begin(const Frame& frame, const McuRange& range, std::uint32_t rows, const Kernels& kernels);
  /// Makes room for the rows of MCUs from `top` on, and keeps the row of samples above.
  void move_to(std::uint32_t top);
  /// Transforms one row of MCUs. `blocks` and `last` begin with MCU `range.left`.
  void transform(std::uint32_t mcu_row, const std::int16_t* blocks, const std::uint8_t* last);
  /// Writes the pixels [x, x + width) of row `y`, which must be one of the rows last moved to, or
  /// the row above them. In a picture whose chroma is subsampled vertically, the row below must be
  /// there, too.
  void write_row(std::uint32_t y, std::uint32_t x, std::uint32_t width, std::uint8_t* out);
  std::size_t kept_bytes() const;

 private:
  struct Plane {
    Buffer<std::uint8_t> memory;
    std::size_t stride = 0;
    std::uint32_t rows = 0;       // samples of a row of MCUs
    std::uint8_t* top = nullptr;  // the first sample of the rows of MCUs; one row stands above
  };

  std::uint32_t columns(const Component& component) const;
  void repeat_edges(std::uint8_t* row) const;
  const std::uint8_t* sample_row(std::size_t plane, std::uint32_t y) const;
  const std::uint8_t* chroma_row(std::size_t plane, std::uint32_t y, std::uint32_t first,
                                 std::size_t count);

  const Frame* frame_ = nullptr;
  const Kernels* kernels_ = nullptr;
  McuRange range_;
  std::uint32_t top_ = 0, held_ = 0;  // rows of MCUs: the first, how many there can be
  std::array<Plane, kMaxComponents> planes_;
  std::array<Buffer<std::uint8_t>, kMaxComponents> upsampled_;
};

}  // namespace packhorse::jpeg
