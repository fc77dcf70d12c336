#pragma once

#include "decode/jpeg_decoder.h"

namespace packhorse::reader {

/// Decodes any JPEG through libjpeg-turbo: the same pixels as the window of a full decode. Blocks
/// outside the window are parsed (entropy coding leaves no choice) but not transformed. The view
/// lies in `buffer`. Throws Error(kCorrupt), for the library's warnings too. Keeps nothing between
/// calls. While it runs, the library holds a few rows of the window's width, or all coefficients of
/// a progressive JPEG.
PixelView decode_with_libjpeg(const JpegTask& task, PixelBuffer& buffer);

}  // namespace packhorse::reader
