#include <png.h>
#include <zlib.h>

#include <array>
#include <bit>
#include <csetjmp>
#include <cstdio>
#include <new>

#include "codecs/encode.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

constexpr int kLevel = 6;  // zlib's own

/// What libpng's callbacks see. An exception must not pass through libpng, nor may its longjmp pass
/// over objects with destructors: those live outside of write().
struct Session {
  std::vector<std::byte>* png;
  bool no_memory = false;
  std::array<char, 128> message{};
};

void take(png_structp writer, png_bytep bytes, std::size_t size) {
  Session& session = *static_cast<Session*>(png_get_io_ptr(writer));
  try {
    const auto* begin = reinterpret_cast<const std::byte*>(bytes);
    session.png->insert(session.png->end(), begin, begin + size);
    return;
  } catch (const std::bad_alloc&) {
    session.no_memory = true;
  }
  png_error(writer, "out of memory");
}

void on_error(png_structp writer, png_const_charp message) {
  Session& session = *static_cast<Session*>(png_get_error_ptr(writer));
  std::snprintf(session.message.data(), session.message.size(), "%s", message);
  png_longjmp(writer, 1);
}

void on_warning(png_structp, png_const_charp) {}

bool write(png_structp writer, png_infop info, const ImageInfo& image, const png_byte* pixels) {
  if (setjmp(png_jmpbuf(writer)) != 0) return false;
  constexpr int kColours[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                              PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_compression_level(writer, kLevel);
  png_set_compression_strategy(writer, Z_DEFAULT_STRATEGY);
  png_set_user_limits(writer, PNG_USER_WIDTH_MAX, PNG_USER_HEIGHT_MAX);
  png_set_IHDR(writer, info, image.width, image.height, image.bit_depth, kColours[image.components],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer, info);
  if (image.bit_depth == 16 && std::endian::native == std::endian::little) png_set_swap(writer);
  const std::size_t stride = std::size_t{image.width} * image.components * image.bit_depth / 8;
  for (std::uint32_t y = 0; y < image.height; ++y) png_write_row(writer, pixels + y * stride);
  png_write_end(writer, info);
  return true;
}

/// Throws Error(kUnsupported) for what a PNG cannot hold.
void check(const ImageInfo& image, Bytes pixels) {
  constexpr std::uint32_t kLongestSide = PNG_USER_WIDTH_MAX;
  const auto refuse = [](const char* why) { throw Error(ErrorKind::kUnsupported, why); };
  if (image.width == 0 || image.height == 0) refuse("it has no pixels");
  if (image.width > kLongestSide || image.height > kLongestSide)
    refuse("its sides are longer than a PNG's may be");
  if (image.components < 1 || image.components > 4)
    refuse("its pixels are neither grey nor RGB, with alpha or without");
  if (image.bit_depth != 8 && image.bit_depth != 16)
    refuse("its samples have neither 8 nor 16 bits");
  const std::uint64_t samples = std::uint64_t{image.width} * image.height * image.components;
  if (pixels.size() != samples * image.bit_depth / 8)
    refuse("its bytes are not the pixels its size says");
}

}  // namespace

void encode_png(const ImageInfo& image, Bytes pixels, std::vector<std::byte>& png) {
  check(image, pixels);
  png.clear();
  Session session{&png};
  png_structp writer =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, &session, on_error, on_warning);
  if (writer == nullptr) throw std::bad_alloc();
  png_infop info = png_create_info_struct(writer);
  session.no_memory = info == nullptr;
  png_set_write_fn(writer, &session, take, nullptr);
  const bool done = info != nullptr &&
                    write(writer, info, image, reinterpret_cast<const png_byte*>(pixels.data()));
  png_destroy_write_struct(&writer, &info);
  if (session.no_memory) throw std::bad_alloc();
  if (!done)
    throw Error(ErrorKind::kUnsupported,
                std::string("libpng cannot make a PNG of it: ") + session.message.data());
}

}  // namespace packhorse
