#pragma once

#include <cstdint>
#include <span>

#include "packhorse/reader/pixel_format.h"
#include "pixel_format/pixel_kernels.h"

namespace packhorse::reader {

/// Writes decoded pixels in a format. Thread-safe.
class PixelWriter {
 public:
  /// Throws Error(kUsage) for a format that makes no sense. `bands`: of pixels that are floats;
  /// 0 for RGB, 8 bit. `within_0_and_1`: these floats are.
  explicit PixelWriter(const PixelFormat& format, std::size_t bands = 0,
                       bool within_0_and_1 = true);

  /// Whether the format is what a Decoder writes: nothing is left to do.
  bool is_as_decoded() const;
  /// `pixels`: what a Decoder has written; `out` has size_of(format.type) bytes for each number of
  /// them, is aligned for that type, and is other memory.
  void write(std::span<const std::uint8_t> pixels, std::span<std::uint8_t> out) const;

 private:
  void write_planes(const std::uint8_t* in, std::size_t count, std::uint8_t* out) const;
  void write_interleaved(const std::uint8_t* in, std::size_t count, std::uint8_t* out) const;

  PixelFormat format_;
  std::size_t bands_;
  Normalization normalization_;
  PixelKernels kernels_;
};

}  // namespace packhorse::reader
