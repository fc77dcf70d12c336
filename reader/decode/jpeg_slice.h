#pragma once

#include <optional>

#include "decode/jpeg_decoder.h"

namespace packhorse::reader {

/// A part of a JPEG as a JPEG of its own.
struct JpegSlice {
  JpegTask task;  ///< `file` lies in the buffer; the window counts from the part's corner
};

/// Copies the restart segments that `task` needs out of a JPEG with a table of its rows
/// (packhorse/roi_layout.h), with the header they need and the markers numbered anew. What it holds
/// goes beyond the window by as much as interpolating chroma looks at, where the picture goes on,
/// so that its window has the pixels of a full decode. The entropy-coded data is not decoded here:
/// of the rows it copies from, the markers are checked as far as it looks for them.
///
/// None when the file has no table, or when its markers are not where they should be (libjpeg says
/// what that is), or when nearly all of it would be copied.
std::optional<JpegSlice> slice_jpeg(const JpegTask& task, PixelBuffer& buffer);

}  // namespace packhorse::reader
