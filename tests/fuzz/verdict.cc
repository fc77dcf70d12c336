#include "verdict.h"

// jpeglib.h needs size_t and FILE, and includes neither.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <csetjmp>

namespace packhorse::fuzz {

namespace {

/// Nothing between setjmp and longjmp may have a destructor.
struct Session {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { jpeg_destroy_decompress(&jpeg); }
};

[[noreturn]] void fail(j_common_ptr jpeg) {
  Session& session = *static_cast<Session*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, session.message);
  std::longjmp(session.jump, 1);
}

void on_message(j_common_ptr jpeg, int level) {
  if (level < 0) fail(jpeg);
}

/// Each of them takes as long as a picture. Ours has a limit, too.
void stop_at_many_scans(j_common_ptr jpeg) {
  constexpr int kMost = 50;
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMost) return;
  Session& session = *static_cast<Session*>(jpeg->client_data);
  std::snprintf(session.message, sizeof session.message, "more than %d scans", kMost);
  std::longjmp(session.jump, 1);
}

void decode(Session& session, Bytes file, std::uint64_t max_pixels, Verdict& verdict) {
  jpeg_decompress_struct& jpeg = session.jpeg;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&jpeg, TRUE);
  if (std::uint64_t{jpeg.image_width} * jpeg.image_height > max_pixels ||
      jpeg.num_components == 4) {
    return;  // not worth the time: our decoder would refuse it
  }
  session.progress.progress_monitor = stop_at_many_scans;
  jpeg.progress = &session.progress;
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  verdict.width = jpeg.output_width;
  verdict.height = jpeg.output_height;
  const std::size_t stride = std::size_t{jpeg.output_width} * 3;
  verdict.pixels.resize(stride * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = verdict.pixels.data() + jpeg.output_scanline * stride;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  verdict.clean = true;
}

}  // namespace

void ask_libjpeg(Bytes file, std::uint64_t max_pixels, Verdict& verdict) {
  Session session;
  verdict.clean = false;
  verdict.width = verdict.height = 0;
  session.jpeg.err = jpeg_std_error(&session.errors);
  session.errors.error_exit = fail;
  session.errors.emit_message = on_message;
  session.jpeg.client_data = &session;
  if (setjmp(session.jump) == 0) {  // NOLINT(cert-err52-cpp): libjpeg's only way
    decode(session, file, max_pixels, verdict);
  }
  verdict.message = session.message;
}

}  // namespace packhorse::fuzz
