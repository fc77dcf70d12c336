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
  /// Each scan of a progressive JPEG goes over all pixels, and takes time even when it changes
  /// nothing.
  std::uint32_t scans = 1;
  /// Bytes that decoding must hold as a whole. A JPEG in several scans: its coefficients; any other
  /// JPEG and a PNM: nothing. All others: the pixels as their library decodes them, or a TIFF's
  /// strip or tile if that is larger; a lossless WebP takes four bytes per pixel on top.
  std::uint64_t bytes = 0;
};

/// Outcome of looking at a file's bytes: either `info`, or the `reason` why it is no usable image.
struct ProbeResult {
  std::optional<ImageInfo> info;
  std::string reason;
  DecodeCost cost = {};
  bool beyond_limits = false;  ///< the reason is a limit: the image may be sound
  bool unsupported = false;    ///< the reason is its kind, which nothing here decodes
};

/// Pillow's limit (2 x 89,478,485), so that what we pack is what the common readers open.
inline constexpr std::uint64_t kDefaultMaxPixels = 178'956'970;

/// Limits on what an image may take, so that a small file cannot ask for hours and for all memory.
/// The defaults are beyond what cameras and scanners make (docs/image_modes.md).
struct ImageLimits {
  std::uint64_t pixels = kDefaultMaxPixels;
  /// Pixels times DecodeCost::scans: a second or two of libjpeg-turbo. Progressive JPEGs have some
  /// ten scans.
  std::uint64_t scan_pixels = 4'000'000'000;
  /// DecodeCost::bytes. With the rest of the program that is half a gigabyte.
  std::uint64_t decoded_bytes = std::uint64_t{448} << 20;

  /// Limits pixels alone, for callers that decode nothing.
  static ImageLimits of_pixels(std::uint64_t pixels) { return {pixels, kNone, kNone}; }
  /// Throws Error(kUsage) for a limit of 0.
  void validate() const;

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
};

/// Reads the header and checks that the file is whole as far as that can be told without decoding:
/// all marker segments or chunks lie inside the file and its end mark is there. Refuses images
/// beyond `limits`, and names the option of `packhorse` that raises the limit. Any thread; looks at
/// each byte at most twice.
///
/// Sources: JPEG ITU-T T.81 B.1 and B.2, EXIF 2.32 4.6.4, PNG (ISO/IEC 15948) 5 and 11.2.2, WebP
/// RFC 9649, BMP BITMAPINFOHEADER, TIFF 6.0 section 2, Netpbm pgm(5) and ppm(5).
ProbeResult probe_image(Bytes file, const ImageLimits& limits = {});

/// Reads the header of a file that is to be decoded, wherever it comes from. Throws Error(kCorrupt)
/// for what probe_image() refuses, Error(kUnsupported) for what is beyond `limits`.
ImageInfo header_to_decode(Bytes file, const ImageLimits& limits);

/// The same for an image that an index describes. Also throws Error(kCorrupt) when any member of
/// ImageInfo differs from `described`; the advice then says that the index is wrong.
ImageInfo described_to_decode(Bytes file, const ImageInfo& described, const ImageLimits& limits);

/// The kind by the first bytes alone (16 suffice).
ImageKind sniff_image(Bytes head);

/// Bytes that suffice for sniff_image() and unsupported_kind().
inline constexpr std::size_t kSniffedBytes = 160;
/// The name of an image kind that is not supported, "GIF" or "AVIF", by the first bytes of a file;
/// empty for anything else.
std::string_view unsupported_kind(Bytes head);
/// The same by a file's name alone. Also knows kinds whose bytes do not tell ("TGA").
std::string_view unsupported_kind_by_name(std::string_view name);

}  // namespace packhorse
