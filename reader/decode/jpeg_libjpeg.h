#pragma once

#include "decode/jpeg_decoder.h"

namespace packhorse::reader {

/// Decodes through libjpeg-turbo, whatever it is: the same pixels as the window of a full decode.
/// Blocks outside are parsed (entropy coding leaves no choice) but not transformed. The view lies
/// in `buffer`. Throws Error(kCorrupt), for the library's warnings too. Keeps nothing; while it
/// runs, the library holds a few rows of the window's width, or, of a progressive JPEG, all
/// coefficients.
PixelView decode_with_libjpeg(const JpegTask& task, PixelBuffer& buffer);

}  // namespace packhorse::reader
