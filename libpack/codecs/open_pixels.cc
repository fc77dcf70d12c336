#include <utility>

#include "codecs/codec.h"
#include "codecs/cursor.h"
#include "image/npy.h"

namespace packhorse::codecs {

namespace {

/// Raw pixels: rows as they are.
class RawRows final : public DecodedRows {
 public:
  RawRows(Bytes pixels, const ImageInfo& info, const PixelLayout& layout, const Region& region) {
    const std::size_t stride = info.width * layout.pixel_bytes();
    start(pixels.data() + static_cast<std::size_t>(region.y) * stride +
              static_cast<std::size_t>(region.x) * layout.pixel_bytes(),
          stride);
  }
};

ProbeResult raw_header(Bytes pixels, const ImageInfo& info) {
  if (pixels.size() != pixel_bytes(info) || (info.components != 1 && info.components != 3))
    throw Error(ErrorKind::kCorrupt, "its bytes are not the pixels its size says");
  ProbeResult header;
  header.info = info;
  header.layout = {info.components == 1 ? ColourModel::kGrey : ColourModel::kRgb, Alpha::kNone,
                   info.components, 8};
  return header;
}

}  // namespace

ProbeResult header_to_open(Bytes file, const ImageInfo& info) {
  if (info.kind == ImageKind::kRaw) return raw_header(file, info);
  const Codec* codec = find_codec(info.kind);
  if (codec == nullptr) throw Error(ErrorKind::kUnsupported, "an image of no known kind");
  ProbeResult header = codec->read_header(file, false);
  if (!header.info || header.info->width != info.width || header.info->height != info.height)
    throw Error(ErrorKind::kCorrupt, "its header is not what was read of it before");
  header.info->kind = info.kind;
  if (has_bands_in_pages(header, info) && !take_pages_as_bands(header).empty())
    throw Error(ErrorKind::kCorrupt, "its pages are not the bands that were read of it before");
  return header;
}

std::string take_pages_as_bands(ProbeResult& header) {
  if (!header.why_no_bands.empty()) return header.why_no_bands;
  const std::uint32_t pages = std::exchange(header.pictures, 1);
  header.layout.model = ColourModel::kBands;
  header.layout.alpha = Alpha::kNone;
  header.layout.channels = static_cast<std::uint8_t>(header.layout.channels * pages);
  header.info->components = header.layout.channels;
  header.cost = {pages, header.bytes_as_bands};
  return {};
}

Region region_of(const Region& region, const ImageInfo& info) {
  if (region.width > 0) return region;
  return {0, 0, static_cast<int>(info.width), static_cast<int>(info.height)};
}

OpenedPixels open_pixels(Bytes file, const ImageInfo& info, const Region& region) {
  const ProbeResult header = header_to_open(file, info);
  if (info.kind == ImageKind::kRaw)
    return {std::make_unique<RawRows>(file, info, header.layout, region), header.layout};
  return {find_codec(info.kind)->open(file, header, region), header.layout};
}

}  // namespace packhorse::codecs
