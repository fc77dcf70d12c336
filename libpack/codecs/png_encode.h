#pragma once

#include <vector>

#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"

namespace packhorse {

/// Compresses pixels without loss into `png`. `image`: kRaw, of 1 or 3 channels; `pixels`: rows
/// from the top, RGB interleaved. The bytes are the same for the same versions of OpenCV, libpng
/// and zlib. Throws Error(kUnsupported) for a size that no PNG can have. Any thread.
void encode_png(const ImageInfo& image, Bytes pixels, std::vector<std::byte>& png);

}  // namespace packhorse
