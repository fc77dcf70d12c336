#if defined(PACKHORSE_LIBHEIF) && defined(PACKHORSE_LIBDE265)
#include "codecs/heic/hevc_decoder.h"

#include <libde265/de265.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace packhorse::codecs {

namespace {

struct De265 {
  SharedLibrary library{PACKHORSE_LIBDE265};
  PACKHORSE_SYMBOL(create, de265_new_decoder);
  PACKHORSE_SYMBOL(free, de265_free_decoder);
  PACKHORSE_SYMBOL(push, de265_push_NAL);
  PACKHORSE_SYMBOL(flush, de265_flush_data);
  PACKHORSE_SYMBOL(decode, de265_decode);
  PACKHORSE_SYMBOL(warning, de265_get_warning);
  PACKHORSE_SYMBOL(describe, de265_get_error_text);
  PACKHORSE_SYMBOL(set, de265_set_parameter_bool);
  PACKHORSE_SYMBOL(set_memory, de265_set_image_allocation_functions);
  PACKHORSE_SYMBOL(set_plane, de265_set_image_plane);
  PACKHORSE_SYMBOL(next_picture, de265_get_next_picture);
  PACKHORSE_SYMBOL(width, de265_get_image_width);
  PACKHORSE_SYMBOL(height, de265_get_image_height);
  PACKHORSE_SYMBOL(chroma, de265_get_chroma_format);
  PACKHORSE_SYMBOL(bits, de265_get_bits_per_pixel);
  PACKHORSE_SYMBOL(plane, de265_get_image_plane);
  PACKHORSE_SYMBOL(full_range, de265_get_image_full_range_flag);
  PACKHORSE_SYMBOL(primaries, de265_get_image_colour_primaries);
  PACKHORSE_SYMBOL(transfer, de265_get_image_transfer_characteristics);
  PACKHORSE_SYMBOL(matrix, de265_get_image_matrix_coefficients);
};

const De265& de265() {
  static const De265 kDe265;
  return kDe265;
}

constexpr heif_error kDone{heif_error_Ok, heif_suberror_Unspecified, ""};

heif_error failed(const char* why) {
  return {heif_error_Decoder_plugin_error, heif_suberror_Unspecified, why};
}

/// Eight rows of what is in memory before anything is decoded into it: random numbers, which no
/// picture has.
constexpr std::array<std::uint64_t, 8> kNothing = {
    0x9f3c61d84e7b0a25, 0x17e2c9503ad6f48b, 0xb45d8e0f62913c7a, 0x6a01f7d3c85be249,
    0xd2984b36e10f7ca5, 0x3b7fa6c21d94580e, 0x85c01e9b7f4ad263, 0x4ed635a8902b1fc7};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// What a plane of a picture is decoded into.
struct Plane {
  std::unique_ptr<std::uint8_t, Free> samples;
  std::size_t stride, row_bytes, rows;

  void clear() {
    for (std::size_t y = 0; y < rows; ++y)
      for (std::size_t x = 0; x < stride; x += 8)
        std::memcpy(samples.get() + y * stride + x, &kNothing[y % 8], 8);
  }
  /// Blocks that are coded are at least 8 x 8 samples; chroma may be half of that.
  bool has_gaps() const {
    for (std::size_t y = 0; y < rows; y += 8)
      for (std::size_t x = 0; x < row_bytes; x += 8)
        if (is_gap(x, y)) return true;
    return false;
  }

 private:
  bool is_gap(std::size_t x, std::size_t top) const {
    for (std::size_t y = top; y < std::min(rows, top + 8); ++y)
      if (std::memcmp(samples.get() + y * stride + x, &kNothing[y % 8],
                      std::min<std::size_t>(8, row_bytes - x)) != 0)
        return false;
    return true;
  }
};

thread_local CodedPictures* pictures_of_thread = nullptr;

}  // namespace

CodedPictures::CodedPictures(std::uint64_t pixels)
    : most_pixels_(pixels + (1u << 22)),  // a tile may be larger than the picture
      pixels_left_(4 * most_pixels_) {
  pictures_of_thread = this;
}

CodedPictures::~CodedPictures() { pictures_of_thread = nullptr; }

void CodedPictures::paint(unsigned first) {
  painting_ = true;
  first_ = first;
  painted_ = 0;
}

/// Decodes one coded picture.
struct HevcDecoder {
  HevcDecoder() : context(de265().create()) {
    if (context == nullptr) return;
    planes.reserve(3);
    static de265_image_allocation functions{take_memory, [](void*, de265_image*, void*) {}};
    de265().set_memory(context, &functions, this);
    de265().set(context, DE265_DECODER_PARAM_BOOL_SEI_CHECK_HASH, 1);
  }
  ~HevcDecoder() {
    if (context != nullptr) de265().free(context);
  }
  HevcDecoder(const HevcDecoder&) = delete;
  HevcDecoder& operator=(const HevcDecoder&) = delete;

  heif_error push(const std::uint8_t* data, std::size_t size) {
    while (size > 0) {
      if (size < 4) return failed("a unit of its data is cut off");
      std::size_t unit = 0;
      for (int i = 0; i < 4; ++i) unit = unit << 8 | data[i];
      if (unit > size - 4 || unit < 2) return failed("a unit of its data is cut off");
      // Rec. ITU-T H.265, table 7-1: below 32 are slices, from 16 to 23 those without references.
      const int type = data[4] >> 1 & 63;
      if (type < 16 || (type > 23 && type < 32)) return failed("it refers to other pictures");
      if (const int error = de265().push(context, data + 4, static_cast<int>(unit), 0, nullptr);
          error != DE265_OK)
        return failed(de265().describe(static_cast<de265_error>(error)));
      data += 4 + unit;
      size -= 4 + unit;
    }
    return kDone;
  }

  heif_error make(heif_image** made) {
    *made = nullptr;
    const heif_error error = pictures_of_thread->painting_ ? paint(made) : decode(made);
    if (error.code != heif_error_Ok && *made != nullptr) {
      heif().release(*made);
      *made = nullptr;
    }
    return error;
  }

  de265_decoder_context* context;

 private:
  heif_error decode(heif_image** made) {
    // The last filter waits until the end of the data is announced. Until then the picture is in
    // our memory, as its slices have left it: with that filter, libde265 would use its own.
    de265().set(context, DE265_DECODER_PARAM_DISABLE_SAO, 1);
    int more = 1, error = DE265_OK;
    while (more != 0 && error == DE265_OK) {
      error = de265().decode(context, &more);
      if (const heif_error found = warned(); found.code != heif_error_Ok) return found;
    }
    if (error != DE265_ERROR_WAITING_FOR_INPUT_DATA)
      return failed(de265().describe(static_cast<de265_error>(error)));
    if (planes.empty()) return failed("it has no slices");
    if (std::ranges::any_of(planes, &Plane::has_gaps)) return failed("slices are missing");
    de265().set(context, DE265_DECODER_PARAM_DISABLE_SAO, 0);
    de265().flush(context);
    more = 1;
    while (more != 0) {
      error = de265().decode(context, &more);
      if (error != DE265_OK) return failed(de265().describe(static_cast<de265_error>(error)));
      if (const heif_error found = warned(); found.code != heif_error_Ok) return found;
      if (const de265_image* picture = de265().next_picture(context)) return copy(*picture, made);
    }
    return failed("it has no picture");
  }

  heif_error paint(heif_image** made) {
    CodedPictures& all = *pictures_of_thread;
    if (all.painted_ == all.decoded_.size()) return failed("its pictures have changed");
    const CodedPictures::Picture picture = all.decoded_[all.painted_];
    const unsigned value = (all.first_ + all.painted_++) % 256;
    heif_error error =
        heif().create(picture.width, picture.height, heif_colorspace_RGB, heif_chroma_444, made);
    for (const heif_channel channel : {heif_channel_R, heif_channel_G, heif_channel_B}) {
      if (error.code != heif_error_Ok) return error;
      error = heif().add_plane(*made, channel, picture.width, picture.height, picture.bits);
      if (error.code != heif_error_Ok) return error;
      int stride = 0;
      std::uint8_t* samples = heif().plane(*made, channel, &stride);
      for (int y = 0; y < picture.height; ++y, samples += stride) {
        if (picture.bits == 8)
          std::fill_n(samples, picture.width, static_cast<std::uint8_t>(value));
        else
          std::fill_n(reinterpret_cast<std::uint16_t*>(samples), picture.width,
                      static_cast<std::uint16_t>(value));
      }
    }
    return error;
  }

  heif_error warned() {
    const de265_error warning = de265().warning(context);
    return warning == DE265_OK ? kDone : failed(de265().describe(warning));
  }

  static int take_memory(void*, de265_image_spec* spec, de265_image* image, void* decoder) {
    std::vector<Plane>& planes = static_cast<HevcDecoder*>(decoder)->planes;
    const std::uint64_t pixels = std::uint64_t(spec->width) * std::uint64_t(spec->height);
    CodedPictures& all = *pictures_of_thread;
    if (!planes.empty() || pixels > std::min(all.most_pixels_, all.pixels_left_)) return 0;
    all.pixels_left_ -= pixels;
    const de265_chroma chroma = de265().chroma(image);
    for (int channel = 0; channel < (chroma == de265_chroma_mono ? 1 : 3); ++channel) {
      const int across = channel > 0 && chroma != de265_chroma_444 ? 2 : 1;
      const int down = channel > 0 && chroma == de265_chroma_420 ? 2 : 1;
      const auto bytes = static_cast<std::size_t>((de265().bits(image, channel) + 7) / 8);
      const auto width = static_cast<std::size_t>(spec->width / across);
      const auto alignment = static_cast<std::size_t>(spec->alignment);
      Plane plane{nullptr, (width + alignment - 1) / alignment * alignment * bytes, width * bytes,
                  static_cast<std::size_t>(spec->height / down)};
      constexpr std::size_t kCacheLine = 64;  // and one more, as libde265 reads a little beyond
      plane.samples.reset(static_cast<std::uint8_t*>(std::aligned_alloc(
          kCacheLine, (plane.stride * plane.rows / kCacheLine + 2) * kCacheLine)));
      if (plane.samples == nullptr) return 0;
      plane.clear();
      de265().set_plane(image, channel, plane.samples.get(), static_cast<int>(plane.stride),
                        nullptr);
      planes.push_back(std::move(plane));
    }
    return 1;
  }

  /// Gives libheif the picture as its own decoder does.
  heif_error copy(const de265_image& picture, heif_image** made) {
    const de265_chroma chroma = de265().chroma(&picture);
    const bool grey = chroma == de265_chroma_mono;
    const int bits = de265().bits(&picture, 0);
    heif_error error = heif().create(de265().width(&picture, 0), de265().height(&picture, 0),
                                     grey ? heif_colorspace_monochrome : heif_colorspace_YCbCr,
                                     static_cast<heif_chroma>(chroma), made);
    constexpr heif_channel kChannels[] = {heif_channel_Y, heif_channel_Cb, heif_channel_Cr};
    for (int i = 0; i < (grey ? 1 : 3); ++i) {
      if (error.code != heif_error_Ok) return error;
      if (de265().bits(&picture, i) != bits) return failed("its channels have unlike bits");
      const int width = de265().width(&picture, i), height = de265().height(&picture, i);
      if (width <= 0 || height <= 0) return failed("it is empty");
      error = heif().add_plane(*made, kChannels[i], width, height, bits);
      if (error.code != heif_error_Ok) return error;
      int from_stride = 0, to_stride = 0;
      const std::uint8_t* from = de265().plane(&picture, i, &from_stride);
      std::uint8_t* to = heif().plane(*made, kChannels[i], &to_stride);
      for (int y = 0; y < height; ++y, from += from_stride, to += to_stride)
        std::memcpy(to, from, static_cast<std::size_t>(width * ((bits + 7) / 8)));
    }
    heif_color_profile_nclx* colours = heif().make_nclx();
    const auto number = [](int value) { return static_cast<std::uint16_t>(value); };
    heif().set_primaries(colours, number(de265().primaries(&picture)));
    heif().set_transfer(colours, number(de265().transfer(&picture)));
    heif().set_matrix(colours, number(de265().matrix(&picture)));
    colours->full_range_flag = de265().full_range(&picture) != 0;
    heif().set_nclx(*made, colours);
    heif().free_nclx(colours);
    pictures_of_thread->decoded_.push_back(
        {de265().width(&picture, 0), de265().height(&picture, 0), bits});
    return kDone;
  }

  std::vector<Plane> planes;  // of the picture
};

std::string why_no_hevc() {
  return de265().library.loaded() ? std::string() : de265().library.why_not();
}

namespace {

/// Of all formats, so that no other decoder has a part in a file: none but HEVC gets through.
int priority() { return pictures_of_thread != nullptr ? 1000 : 0; }

heif_error make_decoder(void** decoder) {
  auto made = std::make_unique<HevcDecoder>();
  if (made->context == nullptr) return failed("no memory");
  *decoder = made.release();
  return kDone;
}

heif_error push_data(void* decoder, const void* data, std::size_t size) {
  return static_cast<HevcDecoder*>(decoder)->push(static_cast<const std::uint8_t*>(data), size);
}

heif_error make_picture(void* decoder, heif_image** made) {
  return static_cast<HevcDecoder*>(decoder)->make(made);
}

}  // namespace

const heif_decoder_plugin kHevcDecoder = {
#if LIBHEIF_NUMERIC_VERSION >= 0x01150000  // 1.21, which takes no older ones
    .plugin_api_version = 5,
#else
    .plugin_api_version = 3,
#endif
    .get_plugin_name = [] { return "packhorse's decoder of whole pictures, by libde265"; },
    .init_plugin = nullptr,
    .deinit_plugin = nullptr,
    .does_support_format = [](heif_compression_format) { return priority(); },
    .new_decoder = make_decoder,
    .free_decoder = [](void* decoder) { delete static_cast<HevcDecoder*>(decoder); },
    .push_data = push_data,
    .decode_image = make_picture,
    .set_strict_decoding = [](void*, int) {},
    .id_name = "packhorse",
#if LIBHEIF_NUMERIC_VERSION >= 0x01150000
    .decode_next_image = [](void* decoder, heif_image** made,
                            const heif_security_limits*) { return make_picture(decoder, made); },
    .minimum_required_libheif_version = 0x01150000,
    .does_support_format2 =
        [](const heif_decoder_plugin_compressed_format_description*) { return priority(); },
    .new_decoder2 = [](void** decoder,
                       const heif_decoder_plugin_options*) { return make_decoder(decoder); },
    .push_data2 = [](void* decoder, const void* data, std::size_t size,
                     std::uintptr_t) { return push_data(decoder, data, size); },
    .flush_data = [](void*) { return kDone; },
    .decode_next_image2 = [](void* decoder, heif_image** made, std::uintptr_t*,
                             const heif_security_limits*) { return make_picture(decoder, made); },
#endif
};

}  // namespace packhorse::codecs
#endif
