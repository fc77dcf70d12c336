#pragma once

#include "packhorse/bytes.h"
#include "packhorse/image_info.h"
#include "pixels.h"

namespace packhorse::reader {

/// Decodes `window` of a binary PGM or PPM file (P5, P6) that probe_image() has accepted; any
/// maximum value is scaled to 255, which OpenCV does not do. The view lies in `buffer`.
PixelView decode_pnm(Bytes file, const ImageInfo& info, const Window& window, PixelBuffer& buffer);

}  // namespace packhorse::reader
