#include <webp/encode.h>

#include <new>

#include "codecs/encode.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr int kEffort = 6;  // of 9, as cwebp's -lossless has it

/// What libwebp makes of a picture.
class Picture {
 public:
  Picture() {
    if (WebPPictureInit(&picture_) == 0) throw Error(ErrorKind::kUnsupported, "another libwebp");
  }
  ~Picture() { WebPPictureFree(&picture_); }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;
  WebPPicture* get() { return &picture_; }
  WebPPicture* operator->() { return &picture_; }

 private:
  WebPPicture picture_{};
};

struct Output {
  std::vector<std::byte>* webp;
  bool no_memory = false;
};

/// libwebp is C: no exception may pass through it.
int take(const std::uint8_t* bytes, std::size_t size, const WebPPicture* picture) {
  auto& output = *static_cast<Output*>(picture->custom_ptr);
  try {
    const auto* begin = reinterpret_cast<const std::byte*>(bytes);
    output.webp->insert(output.webp->end(), begin, begin + size);
    return 1;
  } catch (const std::bad_alloc&) {
    output.no_memory = true;
    return 0;
  }
}

bool import(Picture& picture, const ImageInfo& image, Bytes pixels) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(pixels.data());
  const auto width = static_cast<int>(image.width);
  if (image.components == 4) return WebPPictureImportRGBA(picture.get(), from, 4 * width) != 0;
  if (image.components == 3) return WebPPictureImportRGB(picture.get(), from, 3 * width) != 0;
  // Grey becomes three equal colours, before its alpha if it has one.
  const std::size_t channels = image.components + std::size_t{2};
  const std::size_t count = std::size_t{image.width} * image.height;
  std::vector<std::uint8_t> colours(count * channels);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < channels; ++c)
      colours[i * channels + c] = from[i * image.components + (c < 3 ? 0 : 1)];
  const int stride = static_cast<int>(channels) * width;
  return (channels == 3 ? WebPPictureImportRGB : WebPPictureImportRGBA)(
             picture.get(), colours.data(), stride) != 0;
}

}  // namespace

void encode_webp(const ImageInfo& image, Bytes pixels, std::vector<std::byte>& webp) {
  if (image.components < 1 || image.components > 4 || image.bit_depth != 8 || image.width == 0 ||
      image.height == 0 || image.width > WEBP_MAX_DIMENSION || image.height > WEBP_MAX_DIMENSION ||
      pixels.size() != std::uint64_t{image.width} * image.height * image.components)
    throw Error(ErrorKind::kUnsupported, "no WebP can hold it");
  webp.clear();
  WebPConfig config;
  Picture picture;
  if (WebPConfigInit(&config) == 0 || WebPConfigLosslessPreset(&config, kEffort) == 0)
    throw Error(ErrorKind::kUnsupported, "another libwebp");
  config.exact = 1;
  picture->use_argb = 1;
  picture->width = static_cast<int>(image.width);
  picture->height = static_cast<int>(image.height);
  if (!import(picture, image, pixels)) throw std::bad_alloc();
  Output output{&webp};
  picture->writer = take;
  picture->custom_ptr = &output;
  if (WebPEncode(&config, picture.get()) != 0) return;
  if (output.no_memory || picture->error_code == VP8_ENC_ERROR_OUT_OF_MEMORY)
    throw std::bad_alloc();
  throw Error(ErrorKind::kUnsupported, "libwebp cannot make a WebP of it");
}

}  // namespace packhorse
