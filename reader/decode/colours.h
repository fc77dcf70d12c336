#pragma once

#include "decode/pixels.h"
#include "packhorse/codecs/colour_rows.h"

namespace packhorse::reader {

/// Rows that are handed on together: as many as are scaled at once.
inline constexpr int kRowsTogether = 8;

/// Decodes a window of any image by libpack/codecs and gives its rows to `sink`; grey is repeated.
/// `eighths` of its size: for a JPEG, of which the window is then. Keeps some rows in `buffer`.
/// Throws what open_colours() throws; the sink may have taken rows by then.
void decode_colours(Bytes file, const ImageInfo& info, const Window& window, PixelBuffer& buffer,
                    PixelSink& sink, int eighths = 8);

}  // namespace packhorse::reader
