#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"

/// Decodes images to 8-bit grey or RGB, the same for packing and for reading.
namespace packhorse {

/// An image of any kind but JPEG, as it is stored: not turned upright. Alpha is flattened onto
/// black (colour * alpha / 255, rounded), more or fewer than 8 bits are scaled to 8. One thread.
class DecodedImage {
 public:
  virtual ~DecodedImage() = default;
  /// `count` pixels of row `y`, from column `x` on, as `channels` bytes each.
  virtual void read(int x, int y, int count, std::uint8_t* out) = 0;

  int width = 0, height = 0;
  int channels = 3;       ///< 1: grey, 3: RGB
  std::string_view note;  ///< what was converted, e.g. "16 bit scaled to 8"; empty: nothing
};

/// Decodes a file, which must outlive the image. `info` is what probe_image() says about it. Throws
/// Error(kCorrupt), or Error(kUnsupported) for unusual samples or channels.
std::unique_ptr<DecodedImage> decode_image(Bytes file, const ImageInfo& info);

}  // namespace packhorse
