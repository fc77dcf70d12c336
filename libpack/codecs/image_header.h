#pragma once

#include "packhorse/image/image_info.h"

/// Describes an image file from its header alone. codecs/colour_rows.h decodes it.
namespace packhorse {

/// The meaning of the first samples of a pixel.
enum class ColourModel : std::uint8_t {
  kGrey,   ///< one sample; 0 is black
  kRgb,    ///< three
  kCmyk,   ///< four; 0 is full ink, as in the JPEGs of all common programs
  kBands,  ///< none of these, such as infrared
};

/// The meaning of the sample after the colours.
enum class Alpha : std::uint8_t { kNone, kStraight, kPremultiplied };

/// A pixel as it is decoded: its samples, interleaved.
struct PixelLayout {
  ColourModel model = ColourModel::kRgb;
  Alpha alpha = Alpha::kNone;
  std::uint8_t channels = 3;  ///< samples of a pixel: colours, alpha, and bands that are neither
  std::uint8_t bits = 8;      ///< of a sample: 8, 16, or 32 for a floating-point number
  bool is_float() const { return bits == 32; }
  std::size_t sample_bytes() const { return bits / 8; }
  std::size_t pixel_bytes() const { return std::size_t{channels} * sample_bytes(); }
  friend bool operator==(const PixelLayout&, const PixelLayout&) = default;
};

/// Why such pixels are not colours: "10 bands that are no colours"; empty when they are. They are
/// read as bands (codecs/band_rows.h).
std::string why_no_colours(const PixelLayout& layout);

/// Result of looking at a file's bytes: either `info`, or the `reason` why it is not a usable
/// image.
struct ProbeResult {
  std::optional<ImageInfo> info;
  std::string reason;
  DecodeCost cost = {};
  Reason code = Reason::kNone;  ///< of `reason`
  PixelLayout layout = {};      ///< valid with `info`
  /// Images in the file (an animation, a TIFF of several pages): the first is decoded.
  std::uint32_t pictures = 1;
  static constexpr std::uint32_t kSeveral = ~std::uint32_t{0};  ///< it does not say how many
  /// Why the pages of a TIFF cannot be the bands of one picture; empty when they can.
  std::string why_no_bands = {};
  std::uint64_t bytes_as_bands = 0;  ///< DecodeCost::bytes of all pages at once

  Problem problem() const { return {code, reason}; }
  /// Whether the reason is a limit: the image may be sound.
  bool beyond_limits() const { return is_limit(code); }
  /// Whether the reason is its kind, which nothing here decodes.
  bool unsupported() const;
};

/// Reads the header and checks that the file is complete, as far as possible without decoding: all
/// marker segments or chunks are inside the file and its end mark is there. Refuses images beyond
/// `limits`, and names the option of `packhorse` that raises the limit. Refuses several images in
/// one file unless the limits take the first, pixels that are not colours unless they take bands,
/// and all kinds that nothing here decodes. Any thread; looks at each byte at most twice.
///
/// Sources: JPEG ITU-T T.81 B.1 and B.2, EXIF 2.32 4.6.4, PNG (ISO/IEC 15948) 5 and 11.2.2 and its
/// third edition for animations, WebP RFC 9649, BMP's headers as Microsoft documents them, TIFF 6.0
/// and its technical notes, Netpbm pbm(5), pgm(5) and ppm(5), GIF89a.
///
/// `cut`: these are only the first bytes of the file, so that its end is not looked for. Where they
/// are too few to say more, and for most kinds, the file then counts as truncated.
ProbeResult probe_image(Bytes file, const ImageLimits& limits = {}, bool cut = false);

/// All checks of an image before it is packed, whoever brings it. `known` is kRaw with its size if
/// the bytes are pixels, which are then held against the limits alone; else kUnknown. `path`, which
/// may be empty, tells kinds that the bytes do not.
ProbeResult check_image(Bytes file, const ImageInfo& known, const ImageLimits& limits,
                        std::string_view path = {}, bool cut = false);

/// The wanted form of an image's pixels.
enum class PixelUse : std::uint8_t {
  kColours,  ///< 8 bits: codecs/colour_rows.h
  kBands,    ///< codecs/band_rows.h
};

/// Why images like this one, known only from an index, cannot be decoded here: "AVIF: libavif.so.15
/// is not on this machine"; empty when they can, as far as an index shows.
std::string why_not_decoded(const ImageInfo& info, PixelUse use = PixelUse::kColours);

/// Reads the header of any file before it is decoded. Throws Error(kCorrupt) if probe_image()
/// refuses it, Error(kUnsupported) if it is beyond `limits` or of a kind that nothing here decodes.
ImageInfo header_to_decode(Bytes file, const ImageLimits& limits);

/// The same for an image of a dataset; `described` says whether the pages of a TIFF are its bands.
ImageInfo packed_header(Bytes file, const ImageInfo& described, const ImageLimits& limits);

/// The same for an image that an index describes. The first image in the file is always taken, also
/// if it is not colours. Also throws Error(kCorrupt) when any member of ImageInfo differs from
/// `described`; the advice then says that the index is wrong.
ImageInfo described_to_decode(Bytes file, const ImageInfo& described, const ImageLimits& limits);

/// The kind by the first bytes alone.
ImageKind sniff_image(Bytes head);

/// Bytes that suffice for sniff_image() and unsupported_kind().
inline constexpr std::size_t kSniffedBytes = 160;
/// The name of an image kind that is never supported, "PSD" or "JPEG 2000", by the first bytes of a
/// file; empty for anything else.
std::string_view unsupported_kind(Bytes head);
/// The same by a file's name alone. Also knows kinds without typical first bytes ("TGA").
std::string_view unsupported_kind_by_name(std::string_view name);

}  // namespace packhorse
