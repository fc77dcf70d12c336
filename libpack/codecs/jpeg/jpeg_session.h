#pragma once

// jpeglib.h needs size_t and FILE, and includes neither.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <csetjmp>
#include <string>

#include "packhorse/base/bytes.h"
#include "packhorse/base/error.h"

/// Libjpeg-turbo's decoder, with errors as exceptions.
namespace packhorse {

/// One JPEG being read. Everything libjpeg refuses, and everything it merely warns about (it would
/// make up coefficients for damaged data), becomes Error(kCorrupt) with its message. One thread.
class JpegSession {
 public:
  /// `file` must outlive the session.
  explicit JpegSession(Bytes file);
  ~JpegSession() { jpeg_destroy_decompress(&jpeg_); }
  JpegSession(const JpegSession&) = delete;
  JpegSession& operator=(const JpegSession&) = delete;

  jpeg_decompress_struct& jpeg() { return jpeg_; }

  /// Runs `work`, which may call libjpeg. libjpeg fails by jumping out of `work`: it must hold
  /// nothing with a destructor when it calls. Exceptions of its own are fine.
  template <class Work>
  void run(const Work& work) {
    if (setjmp(jump_) != 0) throw_message();  // NOLINT(cert-err52-cpp): libjpeg's only way
    work();
  }

  /// Keeps APPn and comment segments while reading. Call before read_header().
  void keep_markers();
  /// Also throws when the picture has another size than its probe said.
  void read_header(std::uint32_t width, std::uint32_t height);

 private:
  static void on_error(j_common_ptr jpeg);
  static void on_message(j_common_ptr jpeg, int level);
  static void on_progress(j_common_ptr jpeg);
  [[noreturn]] void throw_message() const;

  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_{};
  char message_[JMSG_LENGTH_MAX] = {};
  bool no_memory_ = false;  ///< whether the message says so
};

}  // namespace packhorse
