#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "codecs/image_header.h"

/// The one way to pixels: packing, verifying, drawing and training all decode through it.
namespace packhorse {

/// A rectangle of the stored picture, in pixels.
struct Region {
  int x = 0, y = 0, width = 0, height = 0;
};

/// Gives an image row by row, as 8-bit grey or RGB, not turned upright. One thread.
class ColourRows {
 public:
  virtual ~ColourRows() = default;
  /// The next row; valid until the next call. Throws Error(kCorrupt) for damage.
  virtual const std::uint8_t* next_row() = 0;

  int width = 0, height = 0;
  int channels = 3;  ///< 1: grey, 3: RGB
  /// Scale of the rows: below 1 when the image is decoded at a reduced size. The last column and
  /// row may then be only part of a pixel.
  double samples_per_pixel = 1;
  /// Whether a pixel of the rows so far is not opaque.
  bool transparent = false;
  /// What was converted; empty when nothing was.
  std::string_view note;
};

/// What to decode of an image.
struct ColourRequest {
  /// Only this part, in pixels of the decoded size; an empty one means the whole. If the kind
  /// allows it, nothing below the part is decoded, so damage there is not noticed.
  Region region = {};
  /// A JPEG is decoded at so many eighths of its size: 1, 2, 4 or 8. All other kinds at full size.
  int eighths = 8;
};

/// Decodes `file`. Grey stays grey. Alpha is flattened onto black (colour * alpha / 255, rounded),
/// bands beyond the colours are left out, more bits than 8 are scaled to 8, CMYK is converted
/// without a profile. `info` must be what probe_image() says about the file, or describe raw
/// pixels. Throws Error(kCorrupt), or Error(kUnsupported) for pixels that are not colours. `file`
/// must outlive the rows.
std::unique_ptr<ColourRows> open_colours(Bytes file, const ImageInfo& info,
                                         const ColourRequest& request = {});

/// The eighths of its size to decode a JPEG at: the least of 1, 2, 4 and 8 that covers
/// `least_width` x `least_height`. libjpeg-turbo has no vector code for the sizes between: most
/// take longer than a full decode.
int decode_eighths(const ImageInfo& info, int least_width, int least_height);

/// Converts a row of CMYK to RGB, without a profile. 0 is full ink, as practically all CMYK JPEGs
/// have it; Pillow and OpenCV take all of them so, with Adobe's marker or without. `rgb` may begin
/// where `cmyk` does, or before.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, int pixels);

}  // namespace packhorse
