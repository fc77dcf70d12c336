#pragma once

#include "decode/pixels.h"
#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"

namespace packhorse::reader {

/// Decodes `window` of any image other than a JPEG with decode_image(); grey is repeated. Decodes
/// the whole picture, except for a PNM. The view lies in `buffer`. Throws what decode_image()
/// throws.
PixelView decode_other(Bytes file, const ImageInfo& info, const Window& window,
                       PixelBuffer& buffer);

}  // namespace packhorse::reader
