#include "codecs/described_image.h"

#include "base/stop.h"
#include "codecs/codec.h"
#include "codecs/colour_rows.h"
#include "image/npy.h"
#include "jpeg/decode/coefficients.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using Verdict = DescribedImage::Verdict;

std::string words_of(const ImageInfo& image) {
  return std::string(name_of(image.kind)) + " of " + std::to_string(image.width) + " x " +
         std::to_string(image.height) + " with " + std::to_string(image.components) +
         " channels of " + std::to_string(image.bit_depth) + " bits and orientation " +
         std::to_string(image.orientation);
}

ProbeResult probe_packed(Bytes file, const ImageInfo& described, const ImageLimits& limits) {
  ImageLimits asked = limits.of_packed();
  ProbeResult found = probe_image(file, asked);
  if (!found.info || !codecs::has_bands_in_pages(found, described)) return found;
  asked.pages_as_bands = true;
  return probe_image(file, asked);
}

ImageInfo info_or_throw(const ProbeResult& result) {
  if (result.info) return *result.info;
  const bool may_be_sound = result.beyond_limits() || result.unsupported();
  throw Error(may_be_sound ? ErrorKind::kUnsupported : ErrorKind::kCorrupt, result.reason);
}

}  // namespace

ImageInfo header_to_decode(Bytes file, const ImageLimits& limits) {
  return info_or_throw(probe_image(file, limits));
}

ImageInfo packed_header(Bytes file, const ImageInfo& described, const ImageLimits& limits) {
  return info_or_throw(probe_packed(file, described, limits));
}

DescribedImage probe_described(Bytes file, const ImageInfo& described, const ImageLimits& limits) {
  if (described.kind == ImageKind::kRaw) {
    if (file.size() != pixel_bytes(described))
      return {Verdict::kOther, {}, "raw pixels of another size than the index says"};
    if (described.bit_depth != 8 || described.orientation != 1) {
      return {Verdict::kOther,
              {},
              "raw pixels are of 8 bits and upright, and the index says "
              "otherwise"};
    }
    return {Verdict::kFits, described};
  }
  ProbeResult found = probe_packed(file, described, limits);
  if (!found.info) {
    return {found.beyond_limits() ? Verdict::kBeyondLimit
            : found.unsupported() ? Verdict::kUnsupported
                                  : Verdict::kUnusable,
            {},
            std::move(found.reason)};
  }
  if (*found.info == described) return {Verdict::kFits, described};
  return {Verdict::kOther,
          {},
          "it is a " + words_of(*found.info) + ", and its index says " + words_of(described)};
}

ImageInfo described_to_decode(Bytes file, const ImageInfo& described, const ImageLimits& limits) {
  const DescribedImage found = probe_described(file, described, limits);
  switch (found.verdict) {
    case Verdict::kBeyondLimit:
      throw Error(ErrorKind::kUnsupported, found.reason, {}, "raise that limit");
    case Verdict::kOther:
      throw Error(ErrorKind::kCorrupt, found.reason, {},
                  "the index describes it wrongly: pack again, or adopt the shards again");
    case Verdict::kUnsupported:
      throw Error(ErrorKind::kUnsupported, found.reason);
    case Verdict::kUnusable:
      throw Error(ErrorKind::kCorrupt, found.reason);
    case Verdict::kFits:
      break;
  }
  return found.info;
}

namespace {

class Nowhere final : public jpeg::CoefficientSink {
 public:
  void take_mcu_row(const std::int16_t*) override { obey_stop(); }
};

/// Whether our decoder accounts for every bit of the scan. Any coefficients make pixels, so the
/// pixels need not be computed. It never takes what libjpeg would warn about (docs/design.md).
bool is_sound_jpeg(Bytes image, const ImageInfo& info) {
  thread_local jpeg::Scratch scratch;
  Nowhere nowhere;
  const jpeg::Result result = jpeg::decode_coefficients(image, nowhere, scratch);
  return result.done() && result.width == info.width && result.height == info.height;
}

}  // namespace

void decode_strictly(Bytes image, const ImageInfo& info) {
  if (info.kind == ImageKind::kRaw) {
    static_cast<void>(codecs::header_to_open(image, info));
  } else if (info.kind == ImageKind::kJpeg) {
    if (is_sound_jpeg(image, info)) return;
    const auto rows = open_colours(image, info);
    for (int y = 0; y < rows->height; ++y) static_cast<void>(rows->next_row());
  } else {
    const Region all = codecs::region_of({}, info);
    const codecs::OpenedPixels opened = codecs::open_pixels(image, info, all);
    for (int y = 0; y < all.height; ++y) {
      obey_stop();
      static_cast<void>(opened.rows->next());
    }
  }
}

}  // namespace packhorse
