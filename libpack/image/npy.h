#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packhorse/base/bytes.h"
#include "packhorse/image/image_info.h"

/// NumPy's file format. A raw image is written as version 1.0, uint8, C order, shape (height,
/// width, channels). Source: numpy/lib/format.py.
namespace packhorse {

/// What the header of a .npy file says.
struct NpyHeader {
  std::string type;  ///< of a value, as written: "|u1", "<i8"; no structures
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;  ///< at most 8 axes
  std::size_t bytes = 0;             ///< of the header itself: where the values begin
};

/// The most bytes of a file that parse_npy_header() looks at.
inline constexpr std::size_t kNpyMostHeader = 4096;

/// Parses the header at the start of `file`, of version 1, 2 or 3. Throws Error(kCorrupt).
NpyHeader parse_npy_header(Bytes file);

/// Every header that packhorse writes has this size, so that pixels begin at a multiple of 64 as
/// NumPy wants.
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
