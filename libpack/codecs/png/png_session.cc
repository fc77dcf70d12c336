#include "codecs/png/png_session.h"

#include <cstdio>
#include <cstring>
#include <new>

namespace packhorse::codecs {

PngSession::PngSession(Bytes file) : rest_(file) {
  png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, keep_message,
                                [](png_structp, png_const_charp) {});
  if (png_ == nullptr) throw std::bad_alloc();
  info_ = png_create_info_struct(png_);
  if (info_ == nullptr) {
    png_destroy_read_struct(&png_, nullptr, nullptr);
    throw std::bad_alloc();
  }
  png_set_read_fn(png_, this, give_bytes);
  // Texts and profiles, which would be decompressed and kept: all chunks but those of the pixels.
  png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // ours are checked before
}

void PngSession::give_bytes(png_structp png, png_bytep to, std::size_t size) {
  Bytes& rest = static_cast<PngSession*>(png_get_io_ptr(png))->rest_;
  if (size > rest.size()) png_error(png, "it ends too early");
  std::memcpy(to, rest.data(), size);
  rest = rest.subspan(size);
}

void PngSession::keep_message(png_structp png, png_const_charp message) {
  auto& session = *static_cast<PngSession*>(png_get_error_ptr(png));
  std::snprintf(session.message_.data(), session.message_.size(), "%s", message);
  png_longjmp(png, 1);
}

}  // namespace packhorse::codecs
