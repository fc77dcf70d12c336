#pragma once

#include <cstddef>
#include <vector>

#include "packhorse/image/image_info.h"

namespace packhorse {

/// Encodes pixels, 8 or 16 bit and grey or RGB, with alpha or without, as a PNG by libpng.
/// `pixels`: rows from the top without gaps, channels interleaved, numbers as this machine has
/// them. The same pixels give the same bytes for the same versions of libpng and zlib. Replaces
/// what is in `png`, whose capacity is kept. Any thread. Throws Error(kUnsupported) for an image
/// that a PNG cannot hold: no pixels, other channels, or sides beyond 1,000,000 pixels.
void encode_png(const ImageInfo& image, Bytes pixels, std::vector<std::byte>& png);

/// Encodes pixels, 8 bit and grey or RGB, with alpha or without, as a lossless WebP by libwebp;
/// colours under full transparency are kept. `pixels`: rows from the top without gaps, channels
/// interleaved. Replaces what is in `webp`, whose capacity is kept. Any thread. Throws
/// Error(kUnsupported) for sides beyond 16,383 pixels, other channels or bits.
void encode_webp(const ImageInfo& image, Bytes pixels, std::vector<std::byte>& webp);

}  // namespace packhorse
