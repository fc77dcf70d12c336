#pragma once

#include "packhorse/bytes.h"
#include "packhorse/image_info.h"
#include "pixels.h"

namespace packhorse::reader {

/// Decodes `window` of a JPEG whose header says `info`, through libjpeg-turbo: the same pixels as
/// the window of a full decode. Blocks outside are parsed (entropy coding leaves no choice) but not
/// transformed. The view lies in `buffer`. Throws Error(kCorrupt), for the library's warnings too.
PixelView decode_jpeg(Bytes file, const ImageInfo& info, const Window& window, PixelBuffer& buffer);

}  // namespace packhorse::reader
