#include "packhorse/image/image_info.h"

#include <array>

#include "image/probe.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

struct Kind {
  ImageKind kind;
  std::string_view name, extension;
  ProbeResult (*probe)(Bytes);
};

constexpr std::array kKinds = {
    Kind{ImageKind::kJpeg, "jpeg", ".jpg", probe::jpeg},
    Kind{ImageKind::kPng, "png", ".png", probe::png},
    Kind{ImageKind::kWebp, "webp", ".webp", probe::webp},
    Kind{ImageKind::kBmp, "bmp", ".bmp", probe::bmp},
    Kind{ImageKind::kTiff, "tiff", ".tif", probe::tiff},
    Kind{ImageKind::kPnm, "pnm", ".ppm", probe::pnm},
    Kind{ImageKind::kRaw, "raw", ".npy", nullptr},  // made by packhorse, never detected
};

const Kind* find(ImageKind kind) {
  for (const Kind& candidate : kKinds) {
    if (candidate.kind == kind) return &candidate;
  }
  return nullptr;
}

/// Says in words which limit the image exceeds; empty when none.
std::string beyond(const ImageLimits& limits, const ImageInfo& info, const DecodeCost& cost) {
  const std::uint64_t pixels = std::uint64_t{info.width} * info.height;
  const std::string size = std::to_string(info.width) + " x " + std::to_string(info.height);
  const auto limit = [](std::uint64_t most, const char* option) {
    return ", the limit is " + std::to_string(most) + " (" + option + ")";
  };
  if (pixels > limits.pixels)
    return "too large: " + size + " pixels" + limit(limits.pixels, "--max-pixels");
  if (pixels > limits.scan_pixels / cost.scans) {
    return "too long to decode: " + std::to_string(cost.scans) + " scans of " + size +
           " pixels, in all " + std::to_string(probe::product(pixels, cost.scans)) +
           limit(limits.scan_pixels, "--max-scan-pixels");
  }
  if (cost.bytes > limits.decoded_bytes) {
    return "too large to decode: " + size + " pixels take " + std::to_string(cost.bytes) +
           " bytes" + limit(limits.decoded_bytes, "--max-decoded-bytes");
  }
  return {};
}

}  // namespace

std::string_view name_of(ImageKind kind) {
  const Kind* found = find(kind);
  return found != nullptr ? found->name : "unknown";
}

std::string_view extension_of(ImageKind kind) {
  const Kind* found = find(kind);
  return found != nullptr ? found->extension : ".bin";
}

ImageKind sniff_image(Bytes head) {
  const probe::Cursor big(head), little(head, false);
  if (big.has(0, "\xff\xd8\xff")) return ImageKind::kJpeg;
  if (big.has(0, std::string_view("\x89PNG\r\n\x1a\n", 8))) return ImageKind::kPng;
  if (big.has(0, "RIFF") && big.has(8, "WEBP")) return ImageKind::kWebp;
  if (big.has(0, std::string_view("II*\0", 4)) || big.has(0, std::string_view("MM\0*", 4))) {
    return ImageKind::kTiff;
  }
  // Many texts start with "BM" or "P6", so a little more must match: the reserved zeros, a space.
  if (big.has(0, "BM") && little.u32(6) == 0u) return ImageKind::kBmp;
  if (big.has(0, "P5") || big.has(0, "P6")) {
    const std::uint32_t next = big.u8(2).value_or(0);
    if (next == ' ' || next == '\n' || next == '\t' || next == '\r') return ImageKind::kPnm;
  }
  return ImageKind::kUnknown;
}

void ImageLimits::validate() const {
  if (pixels == 0) throw Error(ErrorKind::kUsage, "the pixel limit must be positive");
  if (scan_pixels == 0 || decoded_bytes == 0)
    throw Error(ErrorKind::kUsage, "the limits of decoding must be positive");
}

ProbeResult probe_image(Bytes file, const ImageLimits& limits) {
  if (file.empty()) return probe::refuse("empty file");
  const Kind* kind = find(sniff_image(file));
  if (kind == nullptr) {
    const std::string_view other = unsupported_kind(file);
    if (!other.empty()) return probe::refuse_kind(std::string(other));
    return probe::refuse("not an image: its first bytes are those of no supported kind");
  }
  ProbeResult result = kind->probe(file);
  if (!result.info) return result;
  ImageInfo& info = *result.info;
  info.kind = kind->kind;
  const std::string size = std::to_string(info.width) + " x " + std::to_string(info.height);
  if (info.width == 0 || info.height == 0) return probe::refuse("damaged header: size " + size);
  if (std::string reason = beyond(limits, info, result.cost); !reason.empty())
    return {std::nullopt, std::move(reason), result.cost, true};
  return result;
}

ImageInfo header_to_decode(Bytes file, const ImageLimits& limits) {
  const ProbeResult result = probe_image(file, limits);
  if (result.info) return *result.info;
  const bool may_be_sound = result.beyond_limits || result.unsupported;
  throw Error(may_be_sound ? ErrorKind::kUnsupported : ErrorKind::kCorrupt, result.reason);
}

}  // namespace packhorse
