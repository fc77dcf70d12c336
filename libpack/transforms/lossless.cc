#include <algorithm>
#include <cstring>

#include "codecs/codec.h"
#include "codecs/encode.h"
#include "image/picture.h"
#include "packhorse/base/error.h"
#include "transforms/transform.h"

namespace packhorse::transforms {

namespace {

using Codec = TransformOptions::Codec;

/// What no PNG or WebP holds without loss; null where all is well.
const char* reason_to_keep(const PixelLayout& layout, const ImageInfo& info, Codec codec) {
  constexpr std::uint32_t kMostOfWebp = 16383, kMostOfPng = 1'000'000;  // as encoders have it
  const std::size_t colours = layout.model == ColourModel::kGrey ? 1 : 3;
  const std::size_t alpha = layout.alpha == Alpha::kNone ? 0 : 1;
  if (layout.model == ColourModel::kCmyk) return "kept: CMYK";
  if (layout.is_float()) return "kept: floating-point numbers";
  if (layout.alpha == Alpha::kPremultiplied) return "kept: alpha that is multiplied in";
  if (layout.model == ColourModel::kBands || layout.channels != colours + alpha)
    return "kept: bands beyond the colours";
  if (codec == Codec::kPng)
    return std::max(info.width, info.height) > kMostOfPng ? "kept: larger than a PNG" : nullptr;
  if (layout.bits != 8) return "kept: more than 8 bits, which no WebP has";
  if (info.width > kMostOfWebp || info.height > kMostOfWebp) return "kept: larger than a WebP";
  return nullptr;
}

class Lossless final : public Transform {
 public:
  explicit Lossless(const TransformOptions& options)
      : codec_(options.codec), kind_(codec_ == Codec::kPng ? ImageKind::kPng : ImageKind::kWebp) {}

  Transformed apply(Bytes input, ImageInfo& info, std::vector<std::byte>& output) const override {
    refuse_pixels(info, "lossless");
    if (info.kind == ImageKind::kJpeg) return {input, {}};
    const codecs::Codec* source = codecs::find_codec(info.kind);
    const ProbeResult header = source->read_header(input, false);
    if (!header.info) throw Error(ErrorKind::kCorrupt, header.reason);
    if (info.kind == kind_ && header.pictures == 1) return {input, {}};
    if (const char* why = reason_to_keep(header.layout, info, codec_)) return {input, why};
    ProbeResult described = header;
    described.info = info;
    thread_local Plane stored, turned;
    read(*source, input, described, stored);
    const Turn turn = info.turn();
    if (turn.any()) turn_upright(stored, turn, turned);
    encode(turn.any() ? turned : stored, header.layout, output);
    const PixelMap map = turn.any() ? upright_map(info) : PixelMap{};
    // As a reader of it will see it: a WebP says nothing of an alpha that hides nothing.
    info = *codecs::find_codec(kind_)->read_header(output, false).info;
    info.kind = kind_;
    return {output, codec_ == Codec::kPng ? "made a PNG" : "made a WebP", map};
  }

 private:
  /// The samples as they are, a pixel's bytes as channels.
  static void read(const codecs::Codec& codec, Bytes input, const ProbeResult& header,
                   Plane& plane) {
    const int width = static_cast<int>(header.info->width);
    const int height = static_cast<int>(header.info->height);
    plane.reset(width, height, static_cast<int>(header.layout.pixel_bytes()));
    const auto rows = codec.open(input, header, {0, 0, width, height});
    const std::size_t bytes = header.info->width * header.layout.pixel_bytes();
    for (int y = 0; y < height; ++y) std::memcpy(plane.row(y), rows->next(), bytes);
  }

  void encode(Plane& plane, const PixelLayout& layout, std::vector<std::byte>& output) const {
    ImageInfo image;
    image.components = layout.channels;
    image.bit_depth = layout.bits;
    image.width = static_cast<std::uint32_t>(plane.width);
    image.height = static_cast<std::uint32_t>(plane.height);
    const std::size_t row = image.width * layout.pixel_bytes();
    if (plane.stride != row) {  // grey, whose rows are padded
      for (int y = 1; y < plane.height; ++y)
        std::memmove(plane.samples.data() + static_cast<std::size_t>(y) * row, plane.row(y), row);
    }
    const Bytes pixels = std::as_bytes(std::span(plane.samples)).first(row * image.height);
    codec_ == Codec::kPng ? encode_png(image, pixels, output) : encode_webp(image, pixels, output);
  }

  Codec codec_;
  ImageKind kind_;
};

}  // namespace

std::unique_ptr<Transform> make_lossless(const TransformOptions& options) {
  return std::make_unique<Lossless>(options);
}

}  // namespace packhorse::transforms
