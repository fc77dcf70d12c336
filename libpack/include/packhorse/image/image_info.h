#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "packhorse/base/bytes.h"

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

/// What decoding an image takes, as far as its headers tell.
struct DecodeCost {
  /// Each scan of a progressive JPEG goes over all pixels, and costs time even where it says
  /// nothing.
  std::uint32_t scans = 1;
  /// Memory for what must be there as a whole: of a JPEG, the coefficients of one in several scans
  /// and nothing of any other; of a PNM nothing; else the pixels as their library decodes them, or
  /// a TIFF's strip or tile if that is larger. A lossless WebP has four bytes a pixel besides.
  std::uint64_t bytes = 0;
};

/// Outcome of looking at a file's bytes: either `info`, or the `reason` it is no usable image.
struct ProbeResult {
  std::optional<ImageInfo> info;
  std::string reason;
  DecodeCost cost = {};
  bool beyond_limits = false;  ///< the reason: sound as it may be, it is too large
};

/// Pillow's limit (2 x 89,478,485), so that what we pack is what the common readers open.
inline constexpr std::uint64_t kDefaultMaxPixels = 178'956'970;

/// What an image may take, so that a small file cannot ask for hours and for all memory. The
/// defaults are beyond what cameras and scanners make (docs/image_modes.md).
struct ImageLimits {
  std::uint64_t pixels = kDefaultMaxPixels;
  /// Pixels times DecodeCost::scans. A second or two of libjpeg-turbo; progressive JPEGs have some
  /// ten scans.
  std::uint64_t scan_pixels = 4'000'000'000;
  /// DecodeCost::bytes. With the rest of the program that is half a gigabyte.
  std::uint64_t decoded_bytes = std::uint64_t{448} << 20;

  /// Pixels alone, for who decodes nothing.
  static ImageLimits of_pixels(std::uint64_t pixels) { return {pixels, kNone, kNone}; }
  /// Throws Error(kUsage) for a limit of nothing.
  void validate() const;

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
};

/// Reads the header and checks that the file is whole as far as that can be told without decoding:
/// all marker segments or chunks lie inside the file and its end mark is there. Refuses images
/// beyond `limits`, and names the option of `packhorse` that says otherwise. Any thread; looks at
/// each byte at most twice.
///
/// Sources: JPEG ITU-T T.81 B.1 and B.2, EXIF 2.32 4.6.4, PNG (ISO/IEC 15948) 5 and 11.2.2, WebP
/// RFC 9649, BMP BITMAPINFOHEADER, TIFF 6.0 section 2, Netpbm pgm(5) and ppm(5).
ProbeResult probe_image(Bytes file, const ImageLimits& limits = {});

/// The header of a file that is to be decoded, whoever says what it is. Throws Error(kCorrupt) for
/// what probe_image() refuses, Error(kUnsupported) for what is beyond `limits`.
ImageInfo header_to_decode(Bytes file, const ImageLimits& limits);

/// The same of what an index describes. Throws Error(kCorrupt) also when the bytes are not those of
/// an image that is as `described` in all that ImageInfo says. With advice where it is another.
ImageInfo described_to_decode(Bytes file, const ImageInfo& described, const ImageLimits& limits);

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
