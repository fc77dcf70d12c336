// JPEG XL by libjxl, which reads the header, too: it is written bit by bit.
#ifdef PACKHORSE_LIBJXL
#include <jxl/decode.h>
#endif

#include <new>
#include <type_traits>
#include <vector>

#include "codecs/codec.h"
#include "codecs/cursor.h"
#include "codecs/shared_library.h"

namespace packhorse::codecs {

#ifdef PACKHORSE_LIBJXL

namespace {

struct Jxl {
  SharedLibrary library{PACKHORSE_LIBJXL};
  PACKHORSE_SYMBOL(create, JxlDecoderCreate);
  PACKHORSE_SYMBOL(destroy, JxlDecoderDestroy);
  PACKHORSE_SYMBOL(subscribe, JxlDecoderSubscribeEvents);
  PACKHORSE_SYMBOL(keep_orientation, JxlDecoderSetKeepOrientation);
  PACKHORSE_SYMBOL(set_input, JxlDecoderSetInput);
  PACKHORSE_SYMBOL(close_input, JxlDecoderCloseInput);
  PACKHORSE_SYMBOL(process, JxlDecoderProcessInput);
  PACKHORSE_SYMBOL(basic_info, JxlDecoderGetBasicInfo);
  PACKHORSE_SYMBOL(buffer_size, JxlDecoderImageOutBufferSize);
  PACKHORSE_SYMBOL(set_buffer, JxlDecoderSetImageOutBuffer);
  PACKHORSE_SYMBOL(extra_channel, JxlDecoderGetExtraChannelInfo);
  PACKHORSE_SYMBOL(encoded_profile, JxlDecoderGetColorAsEncodedProfile);
  PACKHORSE_SYMBOL(prefer_profile, JxlDecoderSetPreferredColorProfile);
};

const Jxl& jxl() {
  static const Jxl kJxl;
  return kJxl;
}

struct Destroy {
  void operator()(JxlDecoder* decoder) const { jxl().destroy(decoder); }
};
using Decoder = std::unique_ptr<JxlDecoder, Destroy>;

/// A decoder that stops at these events, with all of the file.
Decoder open(Bytes file, int events) {
  Decoder decoder(jxl().create(nullptr));
  if (!decoder) throw std::bad_alloc();
  jxl().subscribe(decoder.get(), events);
  jxl().keep_orientation(decoder.get(), JXL_TRUE);
  jxl().set_input(decoder.get(), reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
  jxl().close_input(decoder.get());
  return decoder;
}

/// Whether libjxl knows the profile of the picture by its numbers. Version 0.9 left out an
/// argument.
template <class Function>
bool knows_profile(const Symbol<Function>& encoded_profile, const JxlDecoder* decoder) {
  JxlColorEncoding found{};
  constexpr auto kTarget = JXL_COLOR_PROFILE_TARGET_ORIGINAL;
  if constexpr (std::is_invocable_v<Function*, const JxlDecoder*, const JxlPixelFormat*,
                                    JxlColorProfileTarget, JxlColorEncoding*>) {
    return encoded_profile(decoder, nullptr, kTarget, &found) == JXL_DEC_SUCCESS;
  } else {
    return encoded_profile(decoder, kTarget, &found) == JXL_DEC_SUCCESS;
  }
}

/// A picture that was stored in JPEG XL's own colours, and whose profile is only a file to libjxl,
/// comes out in linear light unless something else is asked for.
void prefer_srgb(JxlDecoder* decoder, bool grey) {
  if (knows_profile(jxl().encoded_profile, decoder)) return;
  JxlColorEncoding srgb{};
  srgb.color_space = grey ? JXL_COLOR_SPACE_GRAY : JXL_COLOR_SPACE_RGB;
  srgb.white_point = JXL_WHITE_POINT_D65;
  srgb.primaries = JXL_PRIMARIES_SRGB;
  srgb.transfer_function = JXL_TRANSFER_FUNCTION_SRGB;
  srgb.rendering_intent = JXL_RENDERING_INTENT_RELATIVE;
  jxl().prefer_profile(decoder, &srgb);  // without effect where the picture is in its profile
}

class JxlRows final : public DecodedRows {
 public:
  JxlRows(Bytes file, const ProbeResult& header, const Region& region) {
    const Quiet quiet;
    const Decoder decoder = open(file, JXL_DEC_COLOR_ENCODING | JXL_DEC_FULL_IMAGE);
    const std::size_t stride = header.info->width * header.layout.pixel_bytes();
    const JxlPixelFormat format = {header.layout.channels,
                                   header.layout.bits == 8 ? JXL_TYPE_UINT8 : JXL_TYPE_UINT16,
                                   JXL_NATIVE_ENDIAN, 0};
    for (;;) {
      switch (jxl().process(decoder.get())) {
        case JXL_DEC_COLOR_ENCODING:
          prefer_srgb(decoder.get(), header.layout.model == ColourModel::kGrey);
          break;
        case JXL_DEC_NEED_IMAGE_OUT_BUFFER: {
          std::size_t bytes = 0;
          if (jxl().buffer_size(decoder.get(), &format, &bytes) != JXL_DEC_SUCCESS ||
              bytes != stride * header.info->height)
            damaged("jxl", "its picture has another size than its header says");
          pixels_.resize(bytes);
          if (jxl().set_buffer(decoder.get(), &format, pixels_.data(), bytes) != JXL_DEC_SUCCESS)
            damaged("jxl", "its picture cannot be decoded");
          break;
        }
        case JXL_DEC_FULL_IMAGE:  // the first, if there are more
          start(pixels_.data() + static_cast<std::size_t>(region.y) * stride +
                    static_cast<std::size_t>(region.x) * header.layout.pixel_bytes(),
                stride);
          return;
        case JXL_DEC_NEED_MORE_INPUT:
          damaged("jxl", "it ends too early");
        default:
          damaged("jxl", "its picture cannot be decoded");
      }
    }
  }

 private:
  std::vector<std::byte> pixels_;
};

}  // namespace

std::string why_no_jxl() {
  return jxl().library.loaded() ? std::string() : jxl().library.why_not();
}

ProbeResult read_jxl_header(Bytes file, bool) {
  if (const std::string why = why_no_jxl(); !why.empty()) return refuse_kind("JPEG XL: " + why);
  const Quiet quiet;
  const Decoder decoder = open(file, JXL_DEC_BASIC_INFO);
  JxlBasicInfo basic{};
  const JxlDecoderStatus status = jxl().process(decoder.get());
  if (status == JXL_DEC_NEED_MORE_INPUT) return refuse("truncated: the file ends in the header");
  if (status != JXL_DEC_BASIC_INFO || jxl().basic_info(decoder.get(), &basic) != JXL_DEC_SUCCESS)
    return refuse("damaged header");
  if (basic.exponent_bits_per_sample != 0) return refuse_kind("JPEG XL of floating-point numbers");
  if (basic.bits_per_sample > 16)
    return refuse_kind("JPEG XL of " + std::to_string(basic.bits_per_sample) + " bits");
  for (std::uint32_t i = 0, alphas = 0; i < basic.num_extra_channels; ++i) {
    JxlExtraChannelInfo extra{};
    if (jxl().extra_channel(decoder.get(), i, &extra) != JXL_DEC_SUCCESS)
      return refuse("damaged header");
    if (extra.type == JXL_CHANNEL_BLACK) return refuse_kind("JPEG XL of CMYK");
    // Spot colours are drawn by libjxl; what else there is would be left out without a word.
    const bool shown = extra.type == JXL_CHANNEL_SPOT_COLOR || extra.type == JXL_CHANNEL_OPTIONAL ||
                       (extra.type == JXL_CHANNEL_ALPHA && ++alphas == 1);
    if (!shown) return refuse_kind("JPEG XL of further channels, such as depths");
  }
  ImageInfo info;
  info.width = basic.xsize;
  info.height = basic.ysize;
  info.bit_depth = narrow(basic.bits_per_sample);
  info.orientation = static_cast<std::uint8_t>(basic.orientation);
  const bool grey = basic.num_color_channels == 1, alpha = basic.alpha_bits > 0;
  info.components = static_cast<std::uint8_t>((grey ? 1 : 3) + (alpha ? 1 : 0));
  PixelLayout layout;
  layout.model = grey ? ColourModel::kGrey : ColourModel::kRgb;
  layout.alpha = !alpha                                  ? Alpha::kNone
                 : basic.alpha_premultiplied == JXL_TRUE ? Alpha::kPremultiplied
                                                         : Alpha::kStraight;
  layout.channels = info.components;
  layout.bits = basic.bits_per_sample > 8 ? 16 : 8;
  // libjxl works with three or four floating-point numbers a pixel, and a copy of them; and with
  // every further channel.
  const std::uint64_t pixel = 32 + std::uint64_t{8} * basic.num_extra_channels;
  const std::uint64_t bytes = product(product(info.width, info.height), pixel);
  return accept(info, layout, {1, bytes},
                basic.have_animation == JXL_TRUE ? ProbeResult::kSeveral : 1);
}

std::unique_ptr<PixelRows> open_jxl(Bytes file, const ProbeResult& header, const Region& region) {
  return std::make_unique<JxlRows>(file, header, region);
}

#else

std::string why_no_jxl() { return SharedLibrary("").why_not(); }
ProbeResult read_jxl_header(Bytes, bool) { return refuse_kind("JPEG XL: " + why_no_jxl()); }
std::unique_ptr<PixelRows> open_jxl(Bytes, const ProbeResult&, const Region&) {
  throw Error(ErrorKind::kUnsupported, "JPEG XL: " + why_no_jxl());
}

#endif

}  // namespace packhorse::codecs
