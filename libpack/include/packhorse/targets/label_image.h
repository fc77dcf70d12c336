#pragma once

#include <cstdint>
#include <vector>

#include "packhorse/base/bytes.h"

namespace packhorse {

/// A semantic mask: the class of each pixel of an image, row by row, as the image is stored.
struct LabelImage {
  std::uint32_t width = 0, height = 0;
  std::vector<std::uint8_t> labels;  ///< width x height
  std::uint8_t at(std::uint32_t x, std::uint32_t y) const {
    return labels[std::size_t{y} * width + x];
  }
};

/// The width and height that a PNG's header says. Throws as decode_label_image().
LabelImage label_image_size(Bytes png);

/// Decodes a PNG whose pixels are numbers: grey of up to 8 bits, as it is, or the places in a
/// palette. Throws Error(kUnsupported) for colours, transparency of their own and 16 bits, and for
/// an image of another size than `width` x `height`, whose pixels are not decoded; Error(kCorrupt)
/// for a damaged PNG, also where libpng only warns.
LabelImage decode_label_image(Bytes png, std::uint32_t width, std::uint32_t height);

}  // namespace packhorse
