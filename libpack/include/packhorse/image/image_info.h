#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "packhorse/base/bytes.h"
#include "packhorse/base/reason.h"

namespace packhorse {

/// File types taken as images. The first bytes decide, never the name.
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
  kGif = 8,
  kAvif = 9,
  kHeic = 10,
  kJxl = 11,
  kNpy = 12,  ///< a NumPy file of one picture
};

/// The last of them.
inline constexpr ImageKind kLastImageKind = ImageKind::kNpy;

std::string_view name_of(ImageKind kind);

/// The customary file extension with its dot, e.g. ".jpg".
std::string_view extension_of(ImageKind kind);

/// How a stored picture is turned upright: it is mirrored, then its axes are exchanged. So an
/// upright (x, y) is found in the stored picture by exchanging x and y, then mirroring.
struct Turn {
  bool flip_x = false, flip_y = false, swap = false;

  constexpr Turn() = default;
  /// By its orientation (EXIF 2.32, tag 0x0112): 1 to 8; others turn nothing.
  constexpr explicit Turn(int orientation)
      : flip_x(orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8),
        flip_y(orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7),
        swap(orientation >= 5 && orientation <= 8) {}
  constexpr bool any() const { return flip_x || flip_y || swap; }
};

/// What the header says, without decoding a pixel.
struct ImageInfo {
  ImageKind kind = ImageKind::kUnknown;
  std::uint8_t components =
      0;  ///< channels as stored: 1 grey, 2 grey+alpha, 3 colour, 4 colour+alpha or CMYK, or bands
  std::uint8_t bit_depth = 8;    ///< bits per channel; 32: a floating-point number
  std::uint8_t orientation = 1;  ///< EXIF/TIFF orientation, 1 to 8; 1 = as stored
  std::uint32_t width = 0;       ///< pixels as stored, before the orientation is applied
  std::uint32_t height = 0;

  constexpr Turn turn() const { return Turn(orientation); }
  constexpr std::uint32_t upright_width() const { return turn().swap ? height : width; }
  constexpr std::uint32_t upright_height() const { return turn().swap ? width : height; }
  friend bool operator==(const ImageInfo&, const ImageInfo&) = default;
};

/// The cost of decoding an image, from its headers.
struct DecodeCost {
  /// Each scan of a progressive JPEG goes over all pixels, and takes time even when it changes
  /// nothing.
  std::uint32_t scans = 1;
  /// Bytes that decoding must hold as a whole. A JPEG in several scans: its coefficients; any other
  /// JPEG, a PNM, and a PNG that is not interlaced: nothing. A TIFF: a strip or a row of tiles. All
  /// others: the pixels as they are decoded; a lossless WebP takes four bytes per pixel on top.
  std::uint64_t bytes = 0;
};

/// Pillow's limit (2 x 89,478,485), so that common readers open every packed image.
inline constexpr std::uint64_t kDefaultMaxPixels = 178'956'970;

/// Limits on the time and memory of decoding, because a small file can demand hours and all memory.
/// The defaults are beyond what cameras and scanners make (docs/image_modes.md).
struct ImageLimits {
  std::uint64_t pixels = kDefaultMaxPixels;
  /// Pixels times DecodeCost::scans: a second or two of libjpeg-turbo. Progressive JPEGs have about
  /// ten scans.
  std::uint64_t scan_pixels = 4'000'000'000;
  /// DecodeCost::bytes. With the rest of the program that is half a gigabyte.
  std::uint64_t decoded_bytes = std::uint64_t{448} << 20;
  /// Take the first image of a file with several: an animation, or a TIFF of several pages.
  bool first_frame = false;
  /// Take images that are not colours: further bands, floating-point numbers. Only readers of bands
  /// (codecs/band_rows.h) can use them.
  bool bands = false;
  /// The same, and the pages of a TIFF are the bands of one picture.
  bool pages_as_bands = false;

  /// The same, for an image that was packed: packing has decided what it holds.
  ImageLimits of_packed() const {
    ImageLimits limits = *this;
    limits.first_frame = limits.bands = true;
    return limits;
  }
  /// Limits only the number of pixels, for callers that decode nothing.
  static ImageLimits of_pixels(std::uint64_t pixels) { return {pixels, kNone, kNone}; }
  /// Throws Error(kUsage) for a limit of 0, and for options that exclude each other.
  void validate() const;

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
};

/// A limit on numbers that headers say, and the reason for which an image beyond it is rejected.
struct ImageLimit {
  Reason reason;
  std::uint64_t ImageLimits::*most;
  std::uint64_t (*taken)(const ImageInfo& info, const DecodeCost& cost);
  std::string_view option;  ///< that raises it
  /// Completes the reason's text: {size} is "3 x 2 pixels", {taken} what the image takes.
  std::string_view words;
};

/// All of them, in the order in which an image is held against them.
inline constexpr std::array kImageLimits = {
    ImageLimit{Reason::kTooManyPixels, &ImageLimits::pixels,
               [](const ImageInfo& info, const DecodeCost&) {
                 return std::uint64_t{info.width} * info.height;
               },
               "--max-pixels", ": {size}"},
    ImageLimit{Reason::kTooManyScanPixels, &ImageLimits::scan_pixels,
               [](const ImageInfo& info, const DecodeCost& cost) {
                 const std::uint64_t pixels = std::uint64_t{info.width} * info.height;
                 return pixels > ImageLimits::kNone / cost.scans ? ImageLimits::kNone
                                                                 : pixels * cost.scans;
               },
               "--max-scan-pixels", ": {scans} scans of {size}, in all {taken}"},
    ImageLimit{Reason::kTooManyDecodedBytes, &ImageLimits::decoded_bytes,
               [](const ImageInfo&, const DecodeCost& cost) { return cost.bytes; },
               "--max-decoded-bytes", ": {size} take {taken} bytes"},
};

/// Why an image is beyond a limit; empty when it is not.
Problem beyond_limits(const ImageLimits& limits, const ImageInfo& info, const DecodeCost& cost);
/// Whether that is the reason: another limit would let the image pass.
bool is_limit(Reason reason);

}  // namespace packhorse
