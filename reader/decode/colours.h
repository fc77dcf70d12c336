#pragma once

#include "codecs/colour_rows.h"
#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"
#include "packhorse/reader/decode.h"
#include "pixels/pixels.h"

namespace packhorse::reader {

/// Rows that are handed on together: as many as are scaled at once.
inline constexpr int kRowsTogether = 8;

/// Decodes a window of any image by libpack/codecs and gives its rows to `sink`; grey is repeated.
/// `eighths` of its size: for a JPEG, of which the window is then. Keeps some rows in `buffer`.
/// Throws what open_colours() throws; the sink may have taken rows by then.
void decode_colours(Bytes file, const ImageInfo& info, const Window& window, PixelBuffer& buffer,
                    PixelSink& sink, int eighths = 8);

/// decode_colours() for bands. Throws what open_bands() throws, and Error(kUnsupported) for other
/// bands and bits than `choice` wants.
void decode_bands(Bytes file, const ImageInfo& info, const Window& window, const BandChoice& choice,
                  PixelBuffer& buffer, PixelSink& sink);

/// Cuts `window` out of pixels that are not encoded; grey is repeated. The view lies in `pixels` if
/// it can, including the bytes after it that scaling may read, otherwise in `buffer`. Throws
/// Error(kCorrupt) when their size is not the one `info` says, Error(kUnsupported) unless there are
/// one or three channels.
PixelView raw_window(Bytes pixels, const ImageInfo& info, const Window& window,
                     PixelBuffer& buffer);

}  // namespace packhorse::reader
