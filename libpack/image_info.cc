#include "packhorse/image_info.h"

#include <array>
#include <limits>

#include "image_probe.h"
#include "packhorse/error.h"
#include "packhorse/npy.h"

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
    return probe::refuse(as_text(file).starts_with("GIF8")
                             ? "GIF images are not supported"
                             : "not an image: its first bytes are those of no supported kind");
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

void check_described(Bytes file, const ImageInfo& described) {
  if (described.kind == ImageKind::kRaw) {
    if (file.size() == pixel_bytes(described)) return;
    throw Error(ErrorKind::kCorrupt, "raw pixels of another size than the index says");
  }
  const ProbeResult probe = probe_image(file, std::numeric_limits<std::uint64_t>::max());
  if (!probe.info) throw Error(ErrorKind::kCorrupt, probe.reason);
  const auto words = [](const ImageInfo& info) {
    return std::string(name_of(info.kind)) + " of " + std::to_string(info.width) + " x " +
           std::to_string(info.height) + " with " + std::to_string(info.components) + " channels";
  };
  const std::string found = words(*probe.info), said = words(described);
  if (found != said)
    throw Error(ErrorKind::kCorrupt, "it is a " + found + ", and its index says " + said);
}

}  // namespace packhorse
