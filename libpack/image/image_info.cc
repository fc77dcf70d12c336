#include "packhorse/image/image_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

struct Kind {
  ImageKind kind;
  std::string_view name, extension;
};

constexpr std::array kKinds = {
    Kind{ImageKind::kJpeg, "jpeg", ".jpg"},  Kind{ImageKind::kPng, "png", ".png"},
    Kind{ImageKind::kWebp, "webp", ".webp"}, Kind{ImageKind::kBmp, "bmp", ".bmp"},
    Kind{ImageKind::kTiff, "tiff", ".tif"},  Kind{ImageKind::kPnm, "pnm", ".ppm"},
    Kind{ImageKind::kRaw, "raw", ".npy"},    Kind{ImageKind::kGif, "gif", ".gif"},
    Kind{ImageKind::kAvif, "avif", ".avif"}, Kind{ImageKind::kHeic, "heic", ".heic"},
    Kind{ImageKind::kJxl, "jxl", ".jxl"},    Kind{ImageKind::kNpy, "npy", ".npy"},
};

const Kind* find(ImageKind kind) {
  for (const Kind& candidate : kKinds)
    if (candidate.kind == kind) return &candidate;
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

Problem beyond_limits(const ImageLimits& limits, const ImageInfo& info, const DecodeCost& cost) {
  for (const ImageLimit& limit : kImageLimits) {
    const std::uint64_t most = limits.*limit.most, taken = limit.taken(info, cost);
    if (taken <= most) continue;
    const std::string size = fmt::format("{} x {} pixels", info.width, info.height);
    const std::string words = fmt::format(fmt::runtime(limit.words), fmt::arg("size", size),
                                          fmt::arg("taken", taken), fmt::arg("scans", cost.scans));
    return {limit.reason, fmt::format("{}{}, the limit is {} ({})", row_of(limit.reason).text,
                                      words, most, limit.option)};
  }
  return {};
}

bool is_limit(Reason reason) {
  return std::ranges::any_of(kImageLimits,
                             [&](const ImageLimit& limit) { return limit.reason == reason; });
}

void ImageLimits::validate() const {
  if (pixels == 0) throw Error(ErrorKind::kUsage, "the pixel limit must be positive");
  if (scan_pixels == 0 || decoded_bytes == 0)
    throw Error(ErrorKind::kUsage, "the limits of decoding must be positive");
  if (first_frame && pages_as_bands)
    throw Error(ErrorKind::kUsage, "first frame and pages as bands exclude each other");
}

}  // namespace packhorse
