#include "codecs/image_header.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "codecs/codec.h"
#include "codecs/cursor.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace codecs {

namespace {

/// Every kind with pixels to decode. A new one is a line here, and one in sniff_image().
constexpr std::array kCodecs = {
    Codec{ImageKind::kJpeg, "JPEG", read_jpeg_header, nullptr},  // jpeg/jpeg_rows.h
    Codec{ImageKind::kPng, "PNG", read_png_header, open_png},
    Codec{ImageKind::kWebp, "WebP", read_webp_header, open_webp},
    Codec{ImageKind::kBmp, "BMP", read_bmp_header, open_bmp},
    Codec{ImageKind::kTiff, "TIFF", read_tiff_header, open_tiff},
    Codec{ImageKind::kPnm, "PNM", read_pnm_header, open_pnm},
    Codec{ImageKind::kGif, "GIF", read_gif_header, open_gif},
    Codec{ImageKind::kAvif, "AVIF", read_avif_header, open_avif, why_no_avif},
    Codec{ImageKind::kHeic, "HEIC", read_heic_header, open_heic, why_no_heic},
    Codec{ImageKind::kJxl, "JPEG XL", read_jxl_header, open_jxl, why_no_jxl},
    Codec{ImageKind::kNpy, "NumPy array", read_npy_header, open_npy},
};

}  // namespace

const Codec* find_codec(ImageKind kind) {
  for (const Codec& codec : kCodecs)
    if (codec.kind == kind) return &codec;
  return nullptr;
}

std::string title_of(ImageKind kind) {
  const Codec* codec = find_codec(kind);
  return codec != nullptr ? codec->title : "raw pixels";
}

}  // namespace codecs

namespace {

/// What of an image nothing here shows; empty when all of it is.
Problem unsupported_of(const ProbeResult& found, const char* title, const ImageLimits& limits) {
  const ImageInfo& info = *found.info;
  const auto unsupported = [&](Reason reason, const std::string& what) {
    return Problem(reason, "unsupported: " + std::string(title) + " of " + what);
  };
  if (info.width > INT32_MAX || info.height > INT32_MAX)
    return unsupported(Reason::kUnsupported, "more than 2^31 pixels a side");
  if (found.pictures > 1 && !limits.first_frame) {
    return unsupported(
        Reason::kSeveralPictures,
        (found.pictures == ProbeResult::kSeveral ? "several" : std::to_string(found.pictures)) +
            (info.kind == ImageKind::kTiff
                 ? " pages (--first-frame takes the first, --pages-as-bands all)"
                 : " frames (--first-frame takes the first)"));
  }
  const std::string why = why_no_colours(found.layout);
  if (!why.empty() && !limits.bands && !limits.pages_as_bands)
    return unsupported(Reason::kNoColours, why + " (--bands packs them as they are)");
  return {};
}

/// ISO/IEC 23008-12 (HEIF) and the AVIF specification: the brands of an ISO media file.
ImageKind kind_by_brand(const codecs::Cursor& head) {
  if (!head.has(4, "ftyp")) return ImageKind::kUnknown;
  const std::size_t end = std::min<std::size_t>(head.u32(0).value_or(0), head.size());
  const auto has_brand = [&](std::string_view brand) {
    for (std::size_t at = 8; at + 4 <= end; at += at == 8 ? 8 : 4)  // the minor version is between
      if (head.has(at, brand)) return true;
    return false;
  };
  const auto any = [&](std::initializer_list<std::string_view> brands) {
    return std::ranges::any_of(brands, has_brand);
  };
  if (any({"avif", "avis"})) return ImageKind::kAvif;
  if (any({"heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"}))
    return ImageKind::kHeic;
  return ImageKind::kUnknown;
}

}  // namespace

ImageKind sniff_image(Bytes head) {
  const codecs::Cursor big(head), little(head, false);
  if (big.has(0, "\xff\xd8\xff")) return ImageKind::kJpeg;
  if (big.has(0, std::string_view("\x89PNG\r\n\x1a\n", 8))) return ImageKind::kPng;
  if (big.has(0, "RIFF") && big.has(8, "WEBP")) return ImageKind::kWebp;
  if (big.has(0, std::string_view("II*\0", 4)) || big.has(0, std::string_view("MM\0*", 4))) {
    return ImageKind::kTiff;
  }
  if (big.has(0, "GIF87a") || big.has(0, "GIF89a")) return ImageKind::kGif;
  if (big.has(0, "\xff\x0a") || big.has(0, std::string_view("\0\0\0\x0cJXL \r\n\x87\n", 12)))
    return ImageKind::kJxl;
  if (big.has(0, "\x93NUMPY")) return ImageKind::kNpy;
  // Many texts start with "BM" or "P6", so a little more must match: the reserved zeros, a space.
  if (big.has(0, "BM") && little.u32(6) == 0u) return ImageKind::kBmp;
  const std::uint32_t type = big.u8(1).value_or(0);
  if (big.has(0, "P") && type >= '1' && type <= '6') {
    const std::uint32_t next = big.u8(2).value_or(0);
    if (next == ' ' || next == '\n' || next == '\t' || next == '\r') return ImageKind::kPnm;
  }
  return kind_by_brand(big);
}

ProbeResult probe_image(Bytes file, const ImageLimits& limits, bool cut) {
  if (file.empty()) return codecs::refuse(Reason::kEmptyFile);
  const codecs::Codec* codec = codecs::find_codec(sniff_image(file));
  if (codec == nullptr) {
    const std::string_view other = unsupported_kind(file);
    if (!other.empty()) return codecs::refuse_kind(std::string(other));
    return codecs::refuse(Reason::kNotAnImage);
  }
  ProbeResult result = codec->read_header(file, cut);
  if (!result.info) return result;
  ImageInfo& info = *result.info;
  info.kind = codec->kind;
  if (limits.pages_as_bands && info.kind == ImageKind::kTiff && result.pictures > 1) {
    if (const std::string why = codecs::take_pages_as_bands(result); !why.empty())
      return codecs::refuse_kind("TIFF whose pages cannot be the bands of one picture: " + why);
  }
  const std::string size = std::to_string(info.width) + " x " + std::to_string(info.height);
  if (info.width == 0 || info.height == 0) return codecs::refuse("damaged header: size " + size);
  if (Problem problem = beyond_limits(limits, info, result.cost); !problem.empty())
    return {std::nullopt, std::move(problem.text), result.cost, problem.code};
  if (Problem problem = unsupported_of(result, codec->title, limits); !problem.empty())
    return codecs::refuse(std::move(problem));
  return result;
}

bool ProbeResult::unsupported() const {
  return code == Reason::kUnsupported || code == Reason::kSeveralPictures ||
         code == Reason::kNoColours;
}

ProbeResult check_image(Bytes file, const ImageInfo& known, const ImageLimits& limits,
                        std::string_view path, bool cut) {
  if (known.kind == ImageKind::kRaw) {
    const DecodeCost cost{.bytes = file.size()};
    if (Problem problem = beyond_limits(limits, known, cost); !problem.empty())
      return {std::nullopt, std::move(problem.text), cost, problem.code};
    return {known, {}, cost};
  }
  ProbeResult found = probe_image(file, limits, cut);
  if (found.info) return found;
  const std::string_view named = unsupported_kind_by_name(path);
  const bool told =
      file.empty() || sniff_image(file) != ImageKind::kUnknown || !unsupported_kind(file).empty();
  return told || named.empty() ? found : codecs::refuse_kind(std::string(named) + ", by its name");
}

std::string why_no_colours(const PixelLayout& layout) {
  if (layout.is_float()) return "floating-point numbers";
  if (layout.model == ColourModel::kBands)
    return std::to_string(layout.channels) + " bands that are no colours";
  return {};
}

std::string why_not_decoded(const ImageInfo& info, PixelUse use) {
  const bool colours = use == PixelUse::kColours;
  if (info.kind == ImageKind::kRaw) return {};
  const codecs::Codec* codec = codecs::find_codec(info.kind);
  if (codec == nullptr) return "images of an unknown kind";
  const std::string title = codec->title;
  if (codec->why_not != nullptr)
    if (const std::string why = codec->why_not(); !why.empty()) return title + ": " + why;
  const bool jpeg = info.kind == ImageKind::kJpeg;
  if (colours && info.bit_depth == 32) return title + " of floating-point numbers";
  if ((info.bit_depth > 16 && info.bit_depth != 32) || (jpeg && info.bit_depth != 8))
    return title + " of " + std::to_string(info.bit_depth) + " bits";
  if (jpeg && info.components == 2) return title + " of two components";
  return {};
}

}  // namespace packhorse
