#include "packhorse/image_info.h"

#include <array>

#include "image_probe.h"

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
    Kind{ImageKind::kRaw, "raw", ".npy", nullptr},  // made by packhorse, never found by looking
};

const Kind* find(ImageKind kind) {
  for (const Kind& candidate : kKinds) {
    if (candidate.kind == kind) return &candidate;
  }
  return nullptr;
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
  // "BM" and "P6" start many a text, so a little more must fit: the reserved zeros, a space.
  if (big.has(0, "BM") && little.u32(6) == 0u) return ImageKind::kBmp;
  if (big.has(0, "P5") || big.has(0, "P6")) {
    const std::uint32_t next = big.u8(2).value_or(0);
    if (next == ' ' || next == '\n' || next == '\t' || next == '\r') return ImageKind::kPnm;
  }
  return ImageKind::kUnknown;
}

ProbeResult probe_image(Bytes file, std::uint64_t max_pixels) {
  if (file.empty()) return probe::refuse("empty file");
  const Kind* kind = find(sniff_image(file));
  if (kind == nullptr) {
    const std::string_view other = unsupported_kind(file);
    if (!other.empty()) return probe::refuse("unsupported kind: " + std::string(other));
    return probe::refuse("not an image: its first bytes are those of no supported kind");
  }
  ProbeResult result = kind->probe(file);
  if (!result.info) return result;
  ImageInfo& info = *result.info;
  info.kind = kind->kind;
  const std::string size = std::to_string(info.width) + " x " + std::to_string(info.height);
  if (info.width == 0 || info.height == 0) return probe::refuse("damaged header: size " + size);
  if (std::uint64_t{info.width} * info.height > max_pixels) {
    return probe::refuse("too large: " + size + " pixels, the limit is " +
                         std::to_string(max_pixels));
  }
  return result;
}

}  // namespace packhorse
