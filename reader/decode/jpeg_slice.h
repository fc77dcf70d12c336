#pragma once

#include <optional>

#include "decode/jpeg_decoder.h"

namespace packhorse::reader {

/// A part of a JPEG, as a JPEG of its own.
struct JpegSlice {
  JpegTask task;  ///< `file` lies in the buffer; the window counts from the part's corner
};

/// Copies the restart segments that `task` needs out of a JPEG with a table of its rows
/// (packhorse/roi_layout.h), with the header they need and with renumbered markers. The slice
/// extends beyond the window by the margin that chroma interpolation reads, where the picture
/// continues, so its window has the pixels of a full decode. The entropy-coded data is not decoded
/// here; markers are checked in the rows it copies from, as far as it searches them.
///
/// Returns nothing when the file has no table, when its markers are not where they should be
/// (libjpeg reports that), or when nearly all of the file would be copied.
std::optional<JpegSlice> slice_jpeg(const JpegTask& task, PixelBuffer& buffer);

}  // namespace packhorse::reader
