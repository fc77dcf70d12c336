#pragma once

#include <string>

#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"

/// NumPy's file format, as far as pictures need it: version 1.0, uint8, C order, shape (height,
/// width, channels). Source: numpy/lib/format.py, "Format Version 1.0".
namespace packhorse {

/// Every header we write has this size, so that pixels begin at a multiple of 64 as NumPy wants.
inline constexpr std::size_t kNpyHeaderBytes = 128;

/// The header of a raw image's .npy file.
std::string npy_header(const ImageInfo& image);

/// The pixels of a .npy file: all that follows its header. Throws Error(kCorrupt) for anything but
/// a C-ordered array of bytes with three axes, and when there are more or fewer bytes than its
/// header says.
Bytes npy_pixels(Bytes file);

/// Bytes of a raw image's pixels.
inline std::uint64_t pixel_bytes(const ImageInfo& image) {
  return std::uint64_t{image.width} * image.height * image.components;
}

}  // namespace packhorse
