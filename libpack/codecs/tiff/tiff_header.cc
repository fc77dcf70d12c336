#include "codecs/tiff/tiff_header.h"

#include <algorithm>
#include <array>

#include "codecs/codec.h"

namespace packhorse::codecs {

namespace tiff {

namespace {

constexpr std::uint32_t kMostSamples = 255;
constexpr std::uint32_t kReduced = 1, kMask = 4;  // bits of NewSubfileType
constexpr std::uint32_t kOldReduced = 2;          // a value of SubfileType

struct NamedCompression {
  std::uint32_t number;
  bool bilevel = false;   ///< it holds pixels of one bit
  bool predicts = false;  ///< libtiff heeds Predictor
};
/// What the decoded compressions are: none, CCITT's, LZW, JPEG, deflate, PackBits, LZMA, Zstandard.
constexpr std::array kCompressions = {NamedCompression{1},
                                      NamedCompression{2, true},
                                      NamedCompression{3, true},
                                      NamedCompression{4, true},
                                      NamedCompression{5, false, true},
                                      NamedCompression{7},
                                      NamedCompression{8, false, true},
                                      NamedCompression{32946, false, true},
                                      NamedCompression{32773},
                                      NamedCompression{34925, false, true},
                                      NamedCompression{50000, false, true}};

/// Whether a tag has this value for each sample. Some writers give one for all.
bool all_are(const Directory& directory, std::uint32_t tag, std::uint32_t expected) {
  const std::vector<std::uint32_t> values = directory.values(tag, kMostSamples);
  return std::ranges::all_of(values, [&](auto value) { return value == expected; });
}

/// Sets the colour model and alpha; returns what is not supported of them, or an empty text.
std::string read_colours(const Directory& directory, Picture& picture) {
  PixelLayout& layout = picture.layout;
  std::uint32_t colours = 1;
  switch (picture.photometric) {
    case kWhiteIsZero:
    case kBlackIsZero:
      layout.model = ColourModel::kGrey;
      break;
    case kYcbcr:
      if (picture.compression != kJpegCompression) return "TIFF of YCbCr that is no JPEG";
      if (picture.samples != 3 || picture.planar == kSeparate)
        return "TIFF of YCbCr in another layout than three samples together";
      [[fallthrough]];
    case kRgbColours:
      layout.model = ColourModel::kRgb;
      colours = 3;
      break;
    case kPalette:
      if (picture.samples != 1) return "TIFF of a palette and more samples";
      layout.model = ColourModel::kRgb;
      break;
    case kSeparated:
      if (directory.value(kInkSet, 1) != 1) return "TIFF of other inks than CMYK";
      layout.model = ColourModel::kCmyk;
      colours = 4;
      break;
    default:
      return "TIFF of the colours " + std::to_string(picture.photometric);
  }
  if (picture.samples < colours)
    return "TIFF of " + std::to_string(picture.samples) + " samples for " +
           std::to_string(colours) + " colours";
  layout.channels = picture.photometric == kPalette ? 3 : narrow(picture.samples);
  const std::vector<std::uint32_t> extra = directory.values(kExtraSamples, kMostSamples);
  const std::uint32_t first = picture.samples > colours && !extra.empty() ? extra[0] : 0;
  for (std::size_t i = 1; i < extra.size(); ++i)
    if (extra[i] == kAssociated || extra[i] == kUnassociated)
      return "TIFF of an alpha behind other bands";
  layout.alpha = first == kAssociated     ? Alpha::kPremultiplied
                 : first == kUnassociated ? Alpha::kStraight
                                          : Alpha::kNone;
  // Grey and further bands: nothing says that the first is the picture.
  if (colours == 1 && picture.samples > 1 && layout.alpha == Alpha::kNone)
    layout.model = ColourModel::kBands;
  return {};
}

/// Sets the bits as they are decoded; returns what is not supported.
std::string read_samples(const Directory& directory, Picture& picture) {
  const std::uint32_t bits = picture.bits;
  const std::uint32_t format = directory.value(kSampleFormat, kUnsigned);
  if (!all_are(directory, kSampleFormat, format)) return "TIFF of samples of different formats";
  if (!all_are(directory, kBits, bits)) return "TIFF of channels of different bits";
  const std::string of_bits = std::to_string(bits) + " bits";
  if (format == kFloat) {
    if (bits != 32) return "TIFF of floating-point numbers of " + of_bits;
    if (picture.photometric != kBlackIsZero && picture.photometric != kRgbColours)
      return "TIFF of floating-point numbers in such colours";
  } else if (format != kUnsigned) {
    return "TIFF of other samples than unsigned integers and floating-point numbers";
  } else if (bits < 1 || bits > 16) {
    return "TIFF of " + of_bits;
  }
  if (picture.photometric == kPalette && bits > 8) return "TIFF of a palette of " + of_bits;
  picture.layout.bits = bits == 32 ? 32 : bits > 8 ? 16 : 8;
  const auto* const found = std::ranges::find_if(
      kCompressions, [&](const auto& one) { return one.number == picture.compression; });
  if (found == kCompressions.end())
    return "TIFF of the compression " + std::to_string(picture.compression);
  if (!found->predicts && directory.value(kPredictor, 1) != 1)
    return "TIFF of a predictor with the compression " + std::to_string(picture.compression);
  if (found->bilevel && (bits != 1 || picture.samples != 1)) return "fax TIFF of " + of_bits;
  if (picture.compression == kJpegCompression && bits != 8) return "JPEG in a TIFF of " + of_bits;
  return {};
}

/// A strip, or a row of tiles, of all planes.
std::uint64_t block_bytes(const Directory& directory, const Picture& picture) {
  std::uint64_t columns = picture.info.width, rows = picture.info.height;
  if (const std::uint64_t tile = directory.value(kTileWidth, 0); tile > 0) {
    columns = product((columns + tile - 1) / tile, tile);
    rows = directory.value(kTileHeight, 0);
  } else if (const std::uint64_t strip = directory.value(kRowsPerStrip, 0); strip > 0) {
    rows = std::min(rows, strip);
  }
  return product(product(columns, rows), (std::uint64_t{picture.samples} * picture.bits + 7) / 8);
}

}  // namespace

Picture read_picture(const Directory& directory) {
  Picture picture;
  picture.directory = directory.at();
  ImageInfo& info = picture.info;
  info.kind = ImageKind::kTiff;
  info.width = directory.value(kWidth, 0);
  info.height = directory.value(kHeight, 0);
  picture.bits = directory.value(kBits, 1);
  picture.samples = directory.value(kSamplesPerPixel, 1);
  info.bit_depth = narrow(picture.bits);
  info.components = narrow(picture.samples);
  const std::uint32_t orientation = directory.value(kOrientation, 1);
  info.orientation = orientation >= 1 && orientation <= 8 ? narrow(orientation) : std::uint8_t{1};
  picture.compression = directory.value(kCompression, 1);
  picture.planar = directory.value(kPlanar, 1);
  picture.photometric = directory.value(kPhotometric, kWhiteIsZero);
  if (picture.samples == 0 || picture.samples > kMostSamples) {
    picture.unsupported = "TIFF of " + std::to_string(picture.samples) + " samples a pixel";
    return picture;
  }
  picture.unsupported = read_colours(directory, picture);
  if (picture.unsupported.empty()) picture.unsupported = read_samples(directory, picture);
  picture.block_bytes = block_bytes(directory, picture);
  return picture;
}

namespace {

/// Whether a page says that it is a smaller copy or a mask of another one. Several numbers say
/// nothing, as libtiff has it.
bool is_beside_another(const Directory& page) {
  const std::vector<std::uint32_t> kind = page.values(kSubfileType, 2),
                                   old = page.values(kOldSubfileType, 2);
  return (kind.size() == 1 && (kind[0] & (kReduced | kMask)) != 0) ||
         (old.size() == 1 && old[0] == kOldReduced);
}

}  // namespace

std::optional<Pages> find_pages(const Cursor& data) {
  Pages pages{0, first_directory(data), {}};
  std::size_t bytes = 0;
  for (std::size_t at = pages.first.at(); at != 0 && data.u16(at);) {
    const Directory page(data, at);
    // Directories that overlap, or come again, would take more bytes than there are.
    bytes += page.bytes();
    if (bytes > data.size()) return std::nullopt;
    const bool reduced = is_beside_another(page);
    if (!reduced && pages.pictures++ == 0) pages.first = page;
    if (!reduced && pages.all.size() < kMostStacked) pages.all.push_back(page);
    at = page.next();
  }
  return pages;
}

namespace {

bool is_inside(const Directory& page) {
  return page.pieces_inside(kStripOffsets, kStripBytes) ||
         page.pieces_inside(kTileOffsets, kTileBytes);
}

/// Why the pages cannot be the bands of one picture; empty when they can, and `bytes` is then what
/// decoding all of them at once takes.
std::string why_no_bands(const Pages& pages, const Picture& first, std::uint64_t& bytes) {
  bytes = first.block_bytes;
  if (std::uint64_t{pages.pictures} * first.samples > kMostStacked)
    return "they have more than " + std::to_string(kMostStacked) + " bands";
  if (first.photometric == kPalette) return "they have palettes";
  for (std::size_t i = 1; i < pages.all.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    const Picture page = read_picture(pages.all[i]);
    if (!page.unsupported.empty()) return "page " + number + " is a " + page.unsupported;
    if (!page.is_like(first))
      return "page " + number + " has another size, orientation or kind of samples than the first";
    if (!is_inside(pages.all[i])) return "page " + number + " is not inside the file";
    bytes = bytes > ~page.block_bytes ? ~std::uint64_t{0} : bytes + page.block_bytes;
  }
  return {};
}

}  // namespace

}  // namespace tiff

ProbeResult read_tiff_header(Bytes file, bool) {
  const std::optional<Cursor> data = tiff::open_structure(file);
  if (!data) return refuse("truncated: the file ends in the header");
  const std::optional<tiff::Pages> pages = tiff::find_pages(*data);
  if (!pages) return refuse("damaged: its directories lie in a circle");
  const tiff::Directory& directory = pages->first;
  if (pages->pictures == 0 && directory.has(tiff::kSubDirectories))
    return refuse_kind("TIFF of a thumbnail alone, such as a camera's raw file");
  const tiff::Picture picture = tiff::read_picture(directory);
  if (!tiff::is_inside(directory))
    return refuse(
        "damaged or truncated: its pixels are not inside the file, or share its bytes too often");
  if (!picture.unsupported.empty()) return refuse_kind(picture.unsupported);
  ProbeResult result =
      accept(picture.info, picture.layout, {1, picture.block_bytes}, std::max(pages->pictures, 1u));
  if (result.pictures > 1)
    result.why_no_bands = tiff::why_no_bands(*pages, picture, result.bytes_as_bands);
  return result;
}

}  // namespace packhorse::codecs
