#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

/// Private to the reader: how its stages hand pixels to each other, interleaved.
namespace packhorse::reader {

inline constexpr int kChannels = 3;

/// What a pixel is while it is worked on: RGB of 8 bits, or of so many bands, each a float.
struct PixelShape {
  std::size_t bands = 0;  ///< 0: RGB
  bool is_rgb() const { return bands == 0; }
  std::size_t bytes() const { return is_rgb() ? kChannels : bands * sizeof(float); }
};

inline void copy_pixel(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  if (bytes == kChannels) {
    std::memcpy(to, from, kChannels);
  } else {
    std::memcpy(to, from, bytes);
  }
}

/// A rectangle in pixels.
struct Window {
  int x = 0, y = 0, w = 0, h = 0;
};

/// Pixels in a PixelBuffer; `stride` bytes from one row to the next.
struct PixelView {
  const std::uint8_t* data = nullptr;
  int width = 0, height = 0;
  std::size_t stride = 0;
};

/// Takes the rows of a window, from the top, in one part or in many.
class PixelSink {
 public:
  virtual ~PixelSink() = default;
  /// The window's first row comes next. Discards any rows taken before: a decoder found damage, and
  /// another one starts over.
  virtual void start() = 0;
  /// Takes the next rows, all as wide as the window. They stay valid until this returns, with
  /// PixelBuffer::kSlack readable bytes after them.
  virtual void take(const PixelView& rows) = 0;
};

/// Memory that only grows and is not cleared. One thread.
class PixelBuffer {
 public:
  /// Bytes after the last one requested that may also be read and written: vector instructions take
  /// whole words.
  static constexpr std::size_t kSlack = 16;

  /// Returns at least `bytes` bytes, uninitialised; invalidates what was returned before.
  std::uint8_t* reserve(std::size_t bytes) {
    bytes += kSlack;
    if (bytes > capacity_) {
      memory_.reset();
      memory_ = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
      capacity_ = bytes;
    }
    return memory_.get();
  }
  std::uint8_t* data() const { return memory_.get(); }
  std::size_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace packhorse::reader
