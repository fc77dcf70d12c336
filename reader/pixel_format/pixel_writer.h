#pragma once

#include <cstdint>
#include <span>

#include "packhorse/reader/pixel_format.h"
#include "pixel_format/pixel_kernels.h"

namespace packhorse::reader {

/// Writes decoded pixels in a format. Thread-safe.
class PixelWriter {
 public:
  /// Throws Error(kUsage) for a format that makes no sense.
  explicit PixelWriter(const PixelFormat& format);

  /// Whether the format is what a Decoder writes: nothing is left to do.
  bool is_as_decoded() const;
  /// `pixels` are RGB, 8 bit, interleaved; `out` has size_of(format.type) bytes for each of them,
  /// is aligned for that type, and is other memory.
  void write(std::span<const std::uint8_t> pixels, std::span<std::uint8_t> out) const;

 private:
  void write_planes(const std::uint8_t* in, std::size_t count, std::uint8_t* out) const;
  void write_interleaved(const std::uint8_t* in, std::size_t count, std::uint8_t* out) const;

  PixelFormat format_;
  Normalization normalization_;
  PixelKernels kernels_;
};

}  // namespace packhorse::reader
