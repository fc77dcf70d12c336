#pragma once

#include "decode/pixels.h"
#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"

namespace packhorse::reader {

/// Cuts `window` out of pixels that are not encoded; grey is repeated. The view lies in `pixels` if
/// it can, including the bytes after it that scaling may read, otherwise in `buffer`. Throws
/// Error(kCorrupt) when their size is not the one `info` says, Error(kUnsupported) unless there are
/// one or three channels.
PixelView raw_window(Bytes pixels, const ImageInfo& info, const Window& window,
                     PixelBuffer& buffer);

}  // namespace packhorse::reader
