#pragma once

#include <cstddef>
#include <vector>

#include "packhorse/image/image_info.h"

namespace packhorse {

/// Encodes pixels, 8 bit and grey or RGB, with alpha or without, as a lossless WebP by libwebp;
/// colours under full transparency are kept. `pixels`: rows from the top without gaps, channels
/// interleaved. Replaces what is in `webp`, whose capacity is kept. Any thread. Throws
/// Error(kUnsupported) for sides beyond 16,383 pixels, other channels or bits.
void encode_webp(const ImageInfo& image, Bytes pixels, std::vector<std::byte>& webp);

}  // namespace packhorse
