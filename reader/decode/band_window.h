#pragma once

#include "decode/pixels.h"
#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"
#include "packhorse/reader/decode.h"

namespace packhorse::reader {

/// decode_colours() for bands. Throws what open_bands() throws, and Error(kUnsupported) for other
/// bands and bits than `choice` wants.
void decode_bands(Bytes file, const ImageInfo& info, const Window& window, const BandChoice& choice,
                  PixelBuffer& buffer, PixelSink& sink);

}  // namespace packhorse::reader
