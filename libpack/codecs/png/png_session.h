#pragma once

#include <png.h>

#include <array>
#include <csetjmp>
#include <string>

#include "packhorse/base/bytes.h"

/// Libpng's decoder, with errors as exceptions.
namespace packhorse::codecs {

/// One PNG being read. libpng's warnings are dropped: they say that something was odd, not that
/// pixels were made up. One thread.
class PngSession {
 public:
  /// `file` must outlive the session. Throws std::bad_alloc.
  explicit PngSession(Bytes file);
  ~PngSession() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngSession(const PngSession&) = delete;
  PngSession& operator=(const PngSession&) = delete;

  png_structp png() const { return png_; }
  png_infop info() const { return info_; }

  /// Runs `work`, which may call libpng; false when that failed, and message() then says why.
  /// libpng fails by jumping out of `work`: it must hold nothing with a destructor when it calls.
  template <class Work>
  bool run(const Work& work) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;  // NOLINT(cert-err52-cpp): libpng's only way
    work();
    return true;
  }
  std::string message() const { return message_.data(); }

 private:
  static void give_bytes(png_structp png, png_bytep to, std::size_t size);
  static void keep_message(png_structp png, png_const_charp message);

  Bytes rest_;
  std::array<char, 128> message_{};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace packhorse::codecs
