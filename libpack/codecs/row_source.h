#pragma once

#include <memory>
#include <string_view>

#include "packhorse/image/image_info.h"

/// Any image as rows of 8-bit grey or RGB, not turned upright.
namespace packhorse {

/// Gives a picture row by row. One thread.
class RowSource {
 public:
  virtual ~RowSource() = default;
  /// The row below the last one; valid until the next call.
  virtual const std::uint8_t* next_row() = 0;

  int width = 0, height = 0, channels = 3;
  /// Samples for each pixel of the file: below 1 when it is decoded at a reduced size. The last
  /// column and row may then be only part of a sample.
  double samples_per_pixel = 1;
  /// What was converted, for Transformed::note; empty when nothing was.
  std::string_view note;
};

/// Decodes `file`; a JPEG at the smallest size that still has `least_width` x `least_height`
/// pixels and that libjpeg-turbo is quick at. Grey stays grey. CMYK is converted without a profile,
/// alpha is flattened onto black, 16 bits are scaled to 8. Throws Error(kCorrupt |
/// kUnsupported). `file` must outlive the source.
std::unique_ptr<RowSource> open_rows(Bytes file, const ImageInfo& info, int least_width,
                                     int least_height);

/// The eighths of its size to decode a JPEG at: the least of 1, 2, 4 and 8 that covers
/// `least_width` x `least_height`. libjpeg-turbo has no vector code for the sizes between: most
/// take longer than a full decode (bench/image_modes).
int decode_eighths(const ImageInfo& info, int least_width, int least_height);

}  // namespace packhorse
