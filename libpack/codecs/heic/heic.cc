// HEIC by libheif, which also knows what its decoders can do: it reads the header, too.
#ifdef PACKHORSE_LIBHEIF
#include <libheif/heif.h>
#endif

#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "codecs/codec.h"
#include "codecs/cursor.h"
#include "codecs/shared_library.h"

namespace packhorse::codecs {

#ifdef PACKHORSE_LIBHEIF

namespace {

struct Heif {
  SharedLibrary library{PACKHORSE_LIBHEIF};
  PACKHORSE_SYMBOL(alloc, heif_context_alloc);
  PACKHORSE_SYMBOL(free, heif_context_free);
  PACKHORSE_SYMBOL(read, heif_context_read_from_memory_without_copy);
  PACKHORSE_SYMBOL(set_threads, heif_context_set_max_decoding_threads);
  PACKHORSE_SYMBOL(pictures, heif_context_get_number_of_top_level_images);
  PACKHORSE_SYMBOL(primary, heif_context_get_primary_image_handle);
  PACKHORSE_SYMBOL(release_handle, heif_image_handle_release);
  PACKHORSE_SYMBOL(width, heif_image_handle_get_width);
  PACKHORSE_SYMBOL(height, heif_image_handle_get_height);
  PACKHORSE_SYMBOL(has_alpha, heif_image_handle_has_alpha_channel);
  PACKHORSE_SYMBOL(is_premultiplied, heif_image_handle_is_premultiplied_alpha);
  PACKHORSE_SYMBOL(bits, heif_image_handle_get_luma_bits_per_pixel);
  PACKHORSE_SYMBOL(decode, heif_decode_image);
  PACKHORSE_SYMBOL(release, heif_image_release);
  PACKHORSE_SYMBOL(image_width, heif_image_get_width);
  PACKHORSE_SYMBOL(image_height, heif_image_get_height);
  PACKHORSE_SYMBOL(image_bits, heif_image_get_bits_per_pixel_range);
  PACKHORSE_SYMBOL(plane, heif_image_get_plane_readonly);
};

const Heif& heif() {
  static const Heif kHeif;
  return kHeif;
}

/// The picture that a file shows, whose header has been read.
class Picture {
 public:
  explicit Picture(Bytes file) : context_(heif().alloc()) {
    if (context_ == nullptr) throw std::bad_alloc();
    heif().set_threads(context_, 0);
    error_ = heif().read(context_, file.data(), file.size(), nullptr);
    if (error_.code == heif_error_Ok) error_ = heif().primary(context_, &handle_);
  }
  ~Picture() {
    if (handle_ != nullptr) heif().release_handle(handle_);
    heif().free(context_);
  }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;

  heif_context* context() const { return context_; }
  heif_image_handle* handle() const { return handle_; }
  const heif_error& error() const { return error_; }

 private:
  heif_context* context_;
  heif_image_handle* handle_ = nullptr;
  heif_error error_{};
};

struct Release {
  void operator()(heif_image* image) const { heif().release(image); }
};

heif_chroma chroma_of(const PixelLayout& layout) {
  const bool alpha = layout.alpha != Alpha::kNone;
  if (layout.bits == 8) return alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB;
  return alpha ? heif_chroma_interleaved_RRGGBBAA_LE : heif_chroma_interleaved_RRGGBB_LE;
}

class HeicRows final : public DecodedRows {
 public:
  HeicRows(Bytes file, const ProbeResult& header, const Region& region) {
    const Quiet quiet;
    const Picture picture(file);
    heif_error error = picture.error();
    heif_image* made = nullptr;
    if (error.code == heif_error_Ok) {
      error = heif().decode(picture.handle(), &made, heif_colorspace_RGB, chroma_of(header.layout),
                            nullptr);
    }
    if (error.code != heif_error_Ok) damaged("heic", error.message);
    image_.reset(made);
    const auto width = static_cast<int>(header.info->width);
    int stride = 0;
    const std::uint8_t* pixels = heif().plane(made, heif_channel_interleaved, &stride);
    if (pixels == nullptr || heif().image_width(made, heif_channel_interleaved) != width ||
        heif().image_height(made, heif_channel_interleaved) !=
            static_cast<int>(header.info->height))
      damaged("heic", "its picture has another size than its header says");
    const std::byte* at = reinterpret_cast<const std::byte*>(pixels);
    if (header.layout.bits == 16) at = widen(at, header, stride);
    start(at + static_cast<std::ptrdiff_t>(region.y) * stride +
              static_cast<std::size_t>(region.x) * header.layout.pixel_bytes(),
          static_cast<std::size_t>(stride));
  }

 private:
  /// Scales 10 or 12 bits to all that 16 can hold, as all codecs do.
  const std::byte* widen(const std::byte* pixels, const ProbeResult& header, int& stride) {
    const int bits = heif().image_bits(image_.get(), heif_channel_interleaved);
    if (bits < 9 || bits > 16) damaged("heic", "samples of " + std::to_string(bits) + " bits");
    const std::uint32_t most = (1u << bits) - 1;
    const std::size_t samples = std::size_t{header.info->width} * header.layout.channels;
    wide_.resize(samples * header.info->height);
    for (std::size_t y = 0; y < header.info->height; ++y) {
      const std::byte* row = pixels + y * static_cast<std::size_t>(stride);
      for (std::size_t i = 0; i < samples; ++i) {
        const std::uint32_t value = std::to_integer<std::uint32_t>(row[2 * i]) |
                                    std::to_integer<std::uint32_t>(row[2 * i + 1]) << 8;
        wide_[y * samples + i] = static_cast<std::uint16_t>((value * 65535 + most / 2) / most);
      }
    }
    stride = static_cast<int>(2 * samples);
    return reinterpret_cast<const std::byte*>(wide_.data());
  }

  std::unique_ptr<heif_image, Release> image_;
  std::vector<std::uint16_t> wide_;
};

}  // namespace

std::string why_no_heic() {
  return heif().library.loaded() ? std::string() : heif().library.why_not();
}

ProbeResult read_heic_header(Bytes file) {
  if (const std::string why = why_no_heic(); !why.empty()) return refuse_kind("HEIC: " + why);
  const Quiet quiet;
  const Picture picture(file);
  const heif_error& error = picture.error();
  if (error.code != heif_error_Ok) return refuse(std::string("damaged header: ") + error.message);
  ImageInfo info;  // its size as it is shown: libheif turns and mirrors
  info.width = static_cast<std::uint32_t>(std::max(heif().width(picture.handle()), 0));
  info.height = static_cast<std::uint32_t>(std::max(heif().height(picture.handle()), 0));
  const int bits = heif().bits(picture.handle());
  if (bits < 8 || bits > 16) return refuse_kind("HEIC of " + std::to_string(bits) + " bits");
  info.bit_depth = static_cast<std::uint8_t>(bits);
  const bool alpha = heif().has_alpha(picture.handle()) != 0;
  info.components = alpha ? 4 : 3;
  PixelLayout layout;
  layout.channels = info.components;
  if (alpha) {
    layout.alpha =
        heif().is_premultiplied(picture.handle()) != 0 ? Alpha::kPremultiplied : Alpha::kStraight;
  }
  layout.bits = bits > 8 ? 16 : 8;
  return accept(info, layout, {1, product(2, decoded_bytes(info, layout))},
                static_cast<std::uint32_t>(std::max(heif().pictures(picture.context()), 1)));
}

std::unique_ptr<PixelRows> open_heic(Bytes file, const ProbeResult& header, const Region& region) {
  return std::make_unique<HeicRows>(file, header, region);
}

#else

std::string why_no_heic() { return SharedLibrary("").why_not(); }
ProbeResult read_heic_header(Bytes) { return refuse_kind("HEIC: " + why_no_heic()); }
std::unique_ptr<PixelRows> open_heic(Bytes, const ProbeResult&, const Region&) {
  throw Error(ErrorKind::kUnsupported, "HEIC: " + why_no_heic());
}

#endif

}  // namespace packhorse::codecs
