#pragma once

#include "packhorse/bytes.h"
#include "packhorse/image_info.h"
#include "pixels.h"

namespace packhorse::reader {

/// Decodes `window` of any image that is no JPEG, through OpenCV: grey repeated, alpha flattened
/// onto black, 16 bit scaled to 8. The whole picture is decoded; the view lies in `buffer`. Throws
/// Error(kCorrupt), or Error(kUnsupported) for samples that are neither 8 nor 16 bit integers.
PixelView decode_other(Bytes file, const ImageInfo& info, const Window& window,
                       PixelBuffer& buffer);

}  // namespace packhorse::reader
