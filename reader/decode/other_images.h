#pragma once

#include "decode/pixels.h"
#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"

namespace packhorse::reader {

/// Decodes `window` of any image that is no JPEG, by decode_image(), with grey repeated. The whole
/// picture is decoded, but for a PNM; the view lies in `buffer`. Throws what decode_image() does.
PixelView decode_other(Bytes file, const ImageInfo& info, const Window& window,
                       PixelBuffer& buffer);

}  // namespace packhorse::reader
