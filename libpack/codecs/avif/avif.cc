// AVIF by libavif. Its header is read by the library too: the boxes of a file say nothing of the
// codec's own limits.
#ifdef PACKHORSE_LIBAVIF
#include <avif/avif.h>
#endif

#include <new>
#include <vector>

#include "codecs/codec.h"
#include "codecs/cursor.h"
#include "codecs/shared_library.h"

namespace packhorse::codecs {

#ifdef PACKHORSE_LIBAVIF

namespace {

struct Avif {
  SharedLibrary library{PACKHORSE_LIBAVIF};
  PACKHORSE_SYMBOL(create, avifDecoderCreate);
  PACKHORSE_SYMBOL(destroy, avifDecoderDestroy);
  PACKHORSE_SYMBOL(set_memory, avifDecoderSetIOMemory);
  PACKHORSE_SYMBOL(parse, avifDecoderParse);
  PACKHORSE_SYMBOL(next_image, avifDecoderNextImage);
  PACKHORSE_SYMBOL(set_defaults, avifRGBImageSetDefaults);
  PACKHORSE_SYMBOL(to_rgb, avifImageYUVToRGB);
  PACKHORSE_SYMBOL(describe, avifResultToString);
};

const Avif& avif() {
  static const Avif kAvif;
  return kAvif;
}

/// A file whose header has been read.
class Decoder {
 public:
  explicit Decoder(Bytes file) : decoder_(avif().create()) {
    if (decoder_ == nullptr) throw std::bad_alloc();
    decoder_->ignoreExif = AVIF_TRUE;
    decoder_->ignoreXMP = AVIF_TRUE;
    decoder_->maxThreads = 1;
    decoder_->imageDimensionLimit = 0;  // ours are checked
    result_ = avif().set_memory(decoder_, reinterpret_cast<const std::uint8_t*>(file.data()),
                                file.size());
    if (result_ == AVIF_RESULT_OK) result_ = avif().parse(decoder_);
  }
  ~Decoder() { avif().destroy(decoder_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  avifDecoder* operator->() const { return decoder_; }
  avifDecoder* get() const { return decoder_; }
  /// How reading the header ended.
  avifResult result() const { return result_; }

 private:
  avifDecoder* decoder_;
  avifResult result_ = AVIF_RESULT_OK;
};

/// HEIF turns a picture anti-clockwise and then mirrors it.
std::uint8_t orientation_of(const avifImage& image) {
  const unsigned turns =
      (image.transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image.irot.angle & 3u : 0;
  if ((image.transformFlags & AVIF_TRANSFORM_IMIR) == 0) {
    constexpr std::uint8_t kTurned[] = {1, 8, 3, 6};
    return kTurned[turns];
  }
#if AVIF_VERSION >= 1000000
  const bool left_right = image.imir.axis == 1;
#else
  const bool left_right = image.imir.mode == 1;
#endif
  constexpr std::uint8_t kTopBottom[] = {4, 5, 2, 7}, kLeftRight[] = {2, 7, 4, 5};
  return left_right ? kLeftRight[turns] : kTopBottom[turns];
}

class AvifRows final : public DecodedRows {
 public:
  AvifRows(Bytes file, const ProbeResult& header, const Region& region) {
    const Quiet quiet;
    const Decoder decoder(file);
    avifResult result = decoder.result();
    avifPixelFormat format = AVIF_PIXEL_FORMAT_NONE;
    if (result == AVIF_RESULT_OK) {
      format = decoder->image->yuvFormat;
      result = avif().next_image(decoder.get());
    }
    if (result != AVIF_RESULT_OK) damaged("avif", avif().describe(result));
    const avifImage& image = *decoder->image;
    if (image.width != header.info->width || image.height != header.info->height ||
        image.yuvFormat != format || image.depth != header.info->bit_depth)
      damaged("avif", "its container and its picture say different things");
    const std::size_t stride = image.width * header.layout.pixel_bytes();
    pixels_.resize(stride * image.height);
    avifRGBImage rgb;
    avif().set_defaults(&rgb, &image);
    rgb.depth = header.layout.bits;
    rgb.format = header.layout.alpha == Alpha::kNone ? AVIF_RGB_FORMAT_RGB : AVIF_RGB_FORMAT_RGBA;
    rgb.pixels = reinterpret_cast<std::uint8_t*>(pixels_.data());
    rgb.rowBytes = static_cast<std::uint32_t>(stride);
    if (const avifResult made = avif().to_rgb(&image, &rgb); made != AVIF_RESULT_OK)
      damaged("avif", avif().describe(made));
    start(pixels_.data() + static_cast<std::size_t>(region.y) * stride +
              static_cast<std::size_t>(region.x) * header.layout.pixel_bytes(),
          stride);
  }

 private:
  std::vector<std::byte> pixels_;
};

}  // namespace

std::string why_no_avif() {
  return avif().library.loaded() ? std::string() : avif().library.why_not();
}

ProbeResult read_avif_header(Bytes file, bool) {
  if (const std::string why = why_no_avif(); !why.empty()) return refuse_kind("AVIF: " + why);
  const Quiet quiet;
  const Decoder decoder(file);
  if (decoder.result() != AVIF_RESULT_OK)
    return refuse(std::string("damaged header: ") + avif().describe(decoder.result()));
  const avifImage& image = *decoder->image;
  if ((image.transformFlags & AVIF_TRANSFORM_CLAP) != 0)
    return refuse_kind("AVIF of a cut picture");
  ImageInfo info;
  info.width = image.width;
  info.height = image.height;
  info.bit_depth = narrow(image.depth);
  info.orientation = orientation_of(image);
  const bool alpha = decoder->alphaPresent == AVIF_TRUE;
  info.components = alpha ? 4 : 3;
  PixelLayout layout;
  layout.channels = info.components;
  layout.alpha = alpha ? Alpha::kStraight : Alpha::kNone;
  layout.bits = image.depth > 8 ? 16 : 8;
  // The planes that are decoded, and their colours.
  return accept(info, layout, {1, product(2, decoded_bytes(info, layout))},
                static_cast<std::uint32_t>(decoder->imageCount));
}

std::unique_ptr<PixelRows> open_avif(Bytes file, const ProbeResult& header, const Region& region) {
  return std::make_unique<AvifRows>(file, header, region);
}

#else

std::string why_no_avif() { return SharedLibrary("").why_not(); }
ProbeResult read_avif_header(Bytes, bool) { return refuse_kind("AVIF: " + why_no_avif()); }
std::unique_ptr<PixelRows> open_avif(Bytes, const ProbeResult&, const Region&) {
  throw Error(ErrorKind::kUnsupported, "AVIF: " + why_no_avif());
}

#endif

}  // namespace packhorse::codecs
