#include "codecs/codec_versions.h"

#include <gif_lib.h>
#include <jconfig.h>
#include <png.h>
#include <tiffvers.h>
#include <webp/decode.h>

namespace packhorse {

namespace {

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> codec_versions() {
  constexpr int kJpeg = LIBJPEG_TURBO_VERSION_NUMBER;
  const int webp = WebPGetDecoderVersion();
  const std::string tiff = TIFFLIB_VERSION_STR;  // "LIBTIFF, Version 4.5.0\nCopyright ..."
  const std::size_t number = tiff.find_first_of("0123456789");
  return {{"giflib", dotted(GIFLIB_MAJOR, GIFLIB_MINOR, GIFLIB_RELEASE)},
          {"libjpeg-turbo", dotted(kJpeg / 1000000, kJpeg / 1000 % 1000, kJpeg % 1000)},
          {"libpng", png_get_libpng_ver(nullptr)},
          {"libtiff", tiff.substr(number, tiff.find('\n') - number)},
          {"libwebp", dotted(webp >> 16, webp >> 8 & 255, webp & 255)}};
}

}  // namespace packhorse
