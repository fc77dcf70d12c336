#include <algorithm>
#include <cstdlib>

#include "image/probe.h"

namespace packhorse::probe {

namespace {

/// One entry of a TIFF image file directory.
struct Tag {
  std::uint32_t type = 0, count = 0;
  std::size_t values = 0;  ///< where the values lie
};

// TIFF 6.0, section 8 and 19: tags, and values of SampleFormat and PhotometricInterpretation.
constexpr std::uint32_t kBitsPerSample = 258, kPhotometric = 262, kSampleFormat = 339;
constexpr std::uint32_t kUnsigned = 1, kFloat = 3, kSeparated = 5;
constexpr std::uint32_t kMostChannels = 4;

constexpr std::size_t width_of(std::uint32_t type) {
  switch (type) {
    case 1:
    case 2:
    case 6:
    case 7:
      return 1;  // BYTE, ASCII, SBYTE, UNDEFINED
    case 3:
    case 8:
      return 2;  // SHORT, SSHORT
    default:
      return 4;  // LONG and what we do not read
  }
}

std::optional<Tag> find_tag(const Cursor& data, std::size_t directory, std::uint32_t wanted) {
  const std::uint32_t entries = data.u16(directory).value_or(0);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + 12 * i;
    const std::optional<std::uint32_t> tag_number = data.u16(at);
    if (!tag_number) break;  // entries that the file has no room for
    if (*tag_number != wanted) continue;
    Tag tag{data.u16(at + 2).value_or(0), data.u32(at + 4).value_or(0), at + 8};
    if (width_of(tag.type) * std::uint64_t{tag.count} > 4)
      tag.values = data.u32(at + 8).value_or(0);
    return tag;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> value_of(const Cursor& data, const Tag& tag, std::size_t i) {
  if (i >= tag.count) return std::nullopt;
  const std::size_t width = width_of(tag.type);
  const std::size_t at = tag.values + width * i;
  return width == 1 ? data.u8(at) : width == 2 ? data.u16(at) : data.u32(at);
}

std::uint32_t tag_value(const Cursor& data, std::size_t directory, std::uint32_t wanted,
                        std::uint32_t otherwise) {
  const std::optional<Tag> tag = find_tag(data, directory, wanted);
  return tag ? value_of(data, *tag, 0).value_or(otherwise) : otherwise;
}

std::optional<Cursor> open_tiff(Bytes structure) {
  if (structure.size() < 8) return std::nullopt;
  const std::string_view order = as_text(structure.first(2));
  if (order != "II" && order != "MM") return std::nullopt;
  return Cursor(structure, order == "MM");
}

/// Whether all strips (or tiles) lie inside the file.
bool pixels_inside(const Cursor& data, std::size_t directory, std::uint32_t offsets_tag,
                   std::uint32_t counts_tag) {
  const std::optional<Tag> offsets = find_tag(data, directory, offsets_tag);
  const std::optional<Tag> counts = find_tag(data, directory, counts_tag);
  if (!offsets || !counts || offsets->count == 0 || offsets->count != counts->count) return false;
  for (std::size_t i = 0; i < offsets->count; ++i) {
    const std::optional<std::uint32_t> offset = value_of(data, *offsets, i);
    const std::optional<std::uint32_t> count = value_of(data, *counts, i);
    if (!offset || !count || !data.piece(*offset, *count)) return false;
  }
  return true;
}

std::uint8_t narrow(std::uint32_t value) {
  return static_cast<std::uint8_t>(std::min(value, 255u));
}

/// Whether a tag has this value for each channel. Some writers give one for all.
bool all_are(const Cursor& data, std::size_t directory, std::uint32_t wanted,
             std::uint32_t expected) {
  const std::optional<Tag> tag = find_tag(data, directory, wanted);
  const std::uint32_t values = tag ? std::min<std::uint32_t>(tag->count, kMostChannels) : 0;
  for (std::uint32_t i = 0; i < values; ++i)
    if (value_of(data, *tag, i) != expected) return false;
  return true;
}

/// The kind of a TIFF whose samples OpenCV does not decode; empty for any other.
std::string unsupported_samples(const Cursor& data, std::size_t directory, const ImageInfo& info) {
  const std::uint32_t format = tag_value(data, directory, kSampleFormat, kUnsigned);
  const unsigned bits = info.bit_depth;
  const bool cmyk = tag_value(data, directory, kPhotometric, 0) == kSeparated;
  if (info.components > kMostChannels)
    return "TIFF of " + std::to_string(info.components) + " channels";
  if (format == kFloat) return "TIFF of floating-point numbers";
  if (format != kUnsigned || !all_are(data, directory, kSampleFormat, kUnsigned))
    return "TIFF of other samples than unsigned integers";
  if (!all_are(data, directory, kBitsPerSample, bits)) return "TIFF of channels of different bits";
  const bool decoded =
      bits == 8 || ((bits == 12 || bits == 16) && !cmyk) || (bits == 1 && info.components == 1);
  return decoded ? "" : (cmyk ? "CMYK TIFF of " : "TIFF of ") + std::to_string(bits) + " bits";
}

/// Pixels of a strip or of a tile, which may be larger than the picture.
std::uint64_t block_pixels(const Cursor& data, std::size_t directory, const ImageInfo& info) {
  const std::uint64_t tile_width = tag_value(data, directory, 322, 0);
  if (tile_width > 0) return product(tile_width, tag_value(data, directory, 323, 0));
  const std::uint32_t rows = tag_value(data, directory, 278, 0);
  const bool one_strip = rows == 0 || rows > 0x7fffffffu;
  return product(info.width, one_strip ? info.height : rows);
}

/// Samples of 8 bits are decoded to RGBA, a strip or tile at a time; all others keep their layout.
DecodeCost tiff_cost(const Cursor& data, std::size_t directory, const ImageInfo& info) {
  const unsigned sample = info.bit_depth <= 8 ? 1 : 2;
  const unsigned pixel = info.components * sample;
  const std::uint64_t picture = product(product(info.width, info.height), pixel);
  const std::uint64_t block =
      product(block_pixels(data, directory, info), sample == 1 ? std::max(pixel, 4u) : pixel);
  return {1, std::max(picture, block)};
}

}  // namespace

std::uint8_t exif_orientation(Bytes tiff_structure) {
  const std::optional<Cursor> data = open_tiff(tiff_structure);
  if (!data) return 1;
  const std::uint32_t value = tag_value(*data, data->u32(4).value_or(0), 0x0112, 1);
  return value >= 1 && value <= 8 ? narrow(value) : std::uint8_t{1};
}

ProbeResult tiff(Bytes file) {
  const std::optional<Cursor> data = open_tiff(file);
  if (!data) return refuse("truncated: the file ends in the header");
  const std::size_t directory = data->u32(4).value_or(0);
  ImageInfo info;
  info.width = tag_value(*data, directory, 256, 0);
  info.height = tag_value(*data, directory, 257, 0);
  info.bit_depth = narrow(tag_value(*data, directory, kBitsPerSample, 1));
  info.components = narrow(tag_value(*data, directory, 277, 1));
  info.orientation = exif_orientation(file);
  if (!pixels_inside(*data, directory, 273, 279) && !pixels_inside(*data, directory, 324, 325)) {
    return refuse("truncated: its pixels reach beyond the end of the file");
  }
  if (const std::string kind = unsupported_samples(*data, directory, info); !kind.empty())
    return refuse_kind(kind);
  return accept(info, tiff_cost(*data, directory, info));
}

ProbeResult png(Bytes file) {
  const Cursor data(file);
  ImageInfo info;
  bool pixels_seen = false, transparent_colour = false;
  for (std::size_t at = 8;;) {
    const std::optional<std::uint32_t> length = data.u32(at);
    if (!length || !data.piece(at + 8, std::size_t{*length} + 4)) {
      return refuse("truncated: no IEND chunk");
    }
    if (at == 8) {
      if (!data.has(at + 4, "IHDR") || *length != 13)
        return refuse("damaged header: no IHDR chunk");
      info.width = *data.u32(16);
      info.height = *data.u32(20);
      info.bit_depth = narrow(*data.u8(24));
      switch (*data.u8(25)) {  // colour type
        case 0:
          info.components = 1;
          break;
        case 2:
        case 3:
          info.components = 3;
          break;
        case 4:
          info.components = 2;
          break;
        case 6:
          info.components = 4;
          break;
        default:
          return refuse("damaged header: unknown colour type");
      }
    } else if (data.has(at + 4, "IDAT")) {
      pixels_seen = true;
    } else if (data.has(at + 4, "tRNS")) {
      transparent_colour = true;
    } else if (data.has(at + 4, "eXIf")) {
      info.orientation = exif_orientation(*data.piece(at + 8, *length));
    } else if (data.has(at + 4, "IEND")) {
      if (!pixels_seen) return refuse("damaged: no pixels in it");
      const bool grey = info.components == 1 && !transparent_colour;
      const bool alpha = info.components == 2 || info.components == 4 || transparent_colour;
      return accept(info, std::uint64_t{grey    ? 1u
                                        : alpha ? 4u
                                                : 3u} *
                              (info.bit_depth == 16 ? 2u : 1u));
    }
    at += std::size_t{*length} + 12;
  }
}

ProbeResult webp(Bytes file) {
  const Cursor data(file, false);
  const std::uint64_t riff = data.u32(4).value_or(0);
  if (riff + 8 > file.size()) return refuse("truncated: shorter than its header says");
  ImageInfo info;
  info.components = 3;
  bool lossless = false;
  for (std::size_t at = 12; at + 8 <= riff + 8;) {
    const std::uint32_t length = data.u32(at + 4).value_or(0);
    const std::optional<Bytes> chunk = data.piece(at + 8, length);
    if (!chunk) return refuse("truncated: a chunk reaches beyond the end of the file");
    if (data.has(at, "VP8X") && length >= 10) {
      const auto size24 = [&](std::size_t where) {
        return 1 + (*data.u16(where) | (*data.u8(where + 2) << 16));
      };
      info.width = size24(at + 12);
      info.height = size24(at + 15);
      if ((*data.u8(at + 8) & 0x10) != 0) info.components = 4;
      if ((*data.u8(at + 8) & 0x02) != 0) return refuse("animated WebP is not supported");
    } else if (data.has(at, "VP8 ") && length >= 10 && info.width == 0) {
      info.width = *data.u16(at + 14) & 0x3fff;
      info.height = *data.u16(at + 16) & 0x3fff;
    } else if (data.has(at, "VP8L")) {
      lossless = true;
      if (length >= 5 && info.width == 0) {
        const std::uint32_t bits = *data.u32(at + 9);
        info.width = 1 + (bits & 0x3fff);
        info.height = 1 + ((bits >> 14) & 0x3fff);
        if ((bits >> 28 & 1) != 0) info.components = 4;
      }
    } else if (data.has(at, "EXIF")) {
      // Some writers keep JPEG's "Exif\0\0" before the TIFF structure.
      const bool prefixed = Cursor(*chunk).has(0, std::string_view("Exif\0\0", 6));
      info.orientation = exif_orientation(chunk->subspan(prefixed ? 6 : 0));
    }
    at += 8 + std::size_t{length} + (length & 1);
  }
  if (info.width == 0) return refuse("damaged header: no picture chunk");
  return accept(info, info.components + (lossless ? 4u : 0u));
}

ProbeResult bmp(Bytes file) {
  const Cursor data(file, false);
  const std::uint32_t header = data.u32(14).value_or(0);
  ImageInfo info;
  std::uint32_t bits = 0, compression = 0;
  if (header == 12 && data.u16(24)) {
    info.width = *data.u16(18);
    info.height = *data.u16(20);
    bits = *data.u16(24);
  } else if (header >= 40 && data.u32(30)) {
    info.width = *data.u32(18);
    const auto height = static_cast<std::int32_t>(*data.u32(22));  // negative: rows from the top
    info.height =
        height < 0 ? 0u - static_cast<std::uint32_t>(height) : static_cast<std::uint32_t>(height);
    bits = *data.u16(28);
    compression = *data.u32(30);
  } else {
    return refuse("damaged header: unknown BMP header");
  }
  if (bits == 0 && (compression == 0 || compression == 3))
    return refuse("damaged header: 0 bits a pixel");
  info.components = bits == 32 ? 4 : 3;
  const std::uint64_t row = (std::uint64_t{info.width} * bits + 31) / 32 * 4;
  const std::uint64_t pixels = compression == 0 || compression == 3 ? row * info.height : 1;
  if (info.width > 0x7fffffffu || data.u32(10).value_or(0) + pixels > file.size()) {
    return refuse("truncated: its pixels reach beyond the end of the file");
  }
  return accept(info, 3);
}

std::optional<PnmHeader> pnm_header(Bytes file, std::string& reason) {
  const std::string_view text = as_text(file);
  constexpr std::uint64_t kTooLarge = 1'000'000'000;
  std::size_t at = 2;
  const auto number = [&]() -> std::uint64_t {
    while (at < text.size()) {
      if (text[at] == '#') {
        at = std::min(text.find('\n', at), text.size());
      } else if (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r')) {
        ++at;
      } else {
        break;
      }
    }
    std::uint64_t value = 0;
    // A number that is too large stays so, however many digits follow.
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      value = std::min(value * 10 + static_cast<std::uint64_t>(text[at] - '0'), kTooLarge);
    return value;
  };
  PnmHeader header;
  ImageInfo& info = header.info;
  info.components = text[1] == '6' ? 3 : 1;
  info.width = static_cast<std::uint32_t>(number());
  info.height = static_cast<std::uint32_t>(number());
  const std::uint64_t maximum = number();
  if (maximum == 0 || maximum > 65535) {
    reason = "damaged header: bad maximum value";
    return std::nullopt;
  }
  info.bit_depth = maximum > 255 ? 16 : 8;
  const std::uint64_t row = std::uint64_t{info.width} * info.components * (maximum > 255 ? 2 : 1);
  if (at + 1 > text.size() || row * info.height > text.size() - at - 1) {
    reason = "truncated: its pixels reach beyond the end of the file";
    return std::nullopt;
  }
  header.maximum = static_cast<unsigned>(maximum);
  header.pixels = at + 1;
  return header;
}

ProbeResult pnm(Bytes file) {
  std::string reason;
  const std::optional<PnmHeader> header = pnm_header(file, reason);
  if (!header) return refuse(std::move(reason));
  return accept(header->info, DecodeCost{});  // pixels are read where they lie
}

}  // namespace packhorse::probe
