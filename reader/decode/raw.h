#pragma once

#include "decode/pixels.h"
#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"

namespace packhorse::reader {

/// `window` of pixels that are not encoded; grey is repeated. The view lies in `pixels` where it
/// can, with the bytes behind it that scaling may read, else in `buffer`. Throws
/// Error(kCorrupt) when they are not as many as `info` says, Error(kUnsupported) for other channels
/// than one or three.
PixelView raw_window(Bytes pixels, const ImageInfo& info, const Window& window,
                     PixelBuffer& buffer);

}  // namespace packhorse::reader
