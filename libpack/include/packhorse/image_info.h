#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "packhorse/bytes.h"

namespace packhorse {

/// File types taken as images, told by their first bytes, never by their names.
enum class ImageKind : std::uint8_t {
  kUnknown = 0,
  kJpeg = 1,
  kPng = 2,
  kWebp = 3,
  kBmp = 4,
  kTiff = 5,
  kPnm = 6,
  kRaw =
      7,  ///< no file: width x height x components bytes, rows from the top, channels interleaved
};

std::string_view name_of(ImageKind kind);

/// The customary file extension with its dot, e.g. ".jpg".
std::string_view extension_of(ImageKind kind);

/// What the header says, without decoding a pixel.
struct ImageInfo {
  ImageKind kind = ImageKind::kUnknown;
  std::uint8_t components =
      0;  ///< channels as stored: 1 grey, 2 grey+alpha, 3 colour, 4 colour+alpha or CMYK
  std::uint8_t bit_depth = 8;    ///< bits per channel
  std::uint8_t orientation = 1;  ///< EXIF/TIFF orientation, 1 to 8; 1 = as stored
  std::uint32_t width = 0;       ///< pixels as stored, before the orientation is applied
  std::uint32_t height = 0;
  friend bool operator==(const ImageInfo&, const ImageInfo&) = default;
};

/// Outcome of looking at a file's bytes: either `info`, or the `reason` it is no usable image.
struct ProbeResult {
  std::optional<ImageInfo> info;
  std::string reason;
};

/// Pillow's limit (2 x 89,478,485), so that what we pack is what the common readers open.
inline constexpr std::uint64_t kDefaultMaxPixels = 178'956'970;

/// Reads the header and checks that the file is whole as far as that can be told without decoding:
/// all marker segments or chunks lie inside the file and its end mark is there. Refuses images of
/// more than `max_pixels`. Any thread; looks at each byte at most once.
///
/// Sources: JPEG ITU-T T.81 B.1 and B.2, EXIF 2.32 4.6.4, PNG (ISO/IEC 15948) 5 and 11.2.2, WebP
/// RFC 9649, BMP BITMAPINFOHEADER, TIFF 6.0 section 2, Netpbm pgm(5) and ppm(5).
ProbeResult probe_image(Bytes file, std::uint64_t max_pixels = kDefaultMaxPixels);

/// The kind by the first bytes alone (16 suffice).
ImageKind sniff_image(Bytes head);

/// What suffices for both of these.
inline constexpr std::size_t kSniffedBytes = 160;
/// The name of an image kind that is not taken, "GIF" or "AVIF", by the first bytes of a file;
/// empty for anything else.
std::string_view unsupported_kind(Bytes head);
/// The same by a file's name alone, for kinds whose bytes do not tell ("TGA"), too.
std::string_view unsupported_kind_by_name(std::string_view name);

}  // namespace packhorse
