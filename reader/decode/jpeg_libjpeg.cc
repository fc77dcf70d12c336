#include "decode/jpeg_libjpeg.h"

// jpeglib.h needs size_t and FILE, and includes neither.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <csetjmp>
#include <string>

#include "packhorse/base/error.h"
#include "packhorse/image/cmyk.h"

namespace packhorse::reader {

namespace {

// Real progressive files have about ten scans; hundreds are an attempt to waste our time.
constexpr int kMaxScans = 500;

/// libjpeg's state and where to jump when it fails. The functions that run between setjmp and
/// longjmp hold nothing with a destructor; everything that must be freed belongs to this object.
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

Session& session_of(j_common_ptr jpeg) { return *static_cast<Session*>(jpeg->client_data); }

[[noreturn]] void fail(j_common_ptr jpeg) {
  Session& session = session_of(jpeg);
  jpeg->err->format_message(jpeg, session.message);
  std::longjmp(session.jump, 1);
}

[[noreturn]] void fail_saying(Session& session, const char* message) {
  std::snprintf(session.message, sizeof session.message, "%s", message);
  std::longjmp(session.jump, 1);
}

void on_message(j_common_ptr jpeg, int level) {
  // A warning means that pixels were made up for damaged data.
  if (level < 0) fail(jpeg);
}

void on_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMaxScans) {
    fail_saying(session_of(jpeg), "more than 500 scans");
  }
}

void read_header(Session& session, const JpegTask& task) {
  jpeg_decompress_struct& jpeg = session.jpeg;
  jpeg_create_decompress(&jpeg);
  session.progress.progress_monitor = on_progress;
  jpeg.progress = &session.progress;
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(task.file.data()), task.file.size());
  jpeg_read_header(&jpeg, TRUE);
  if (jpeg.image_width != task.info.width || jpeg.image_height != task.info.height) {
    fail_saying(session, "two headers of different sizes");
  }
  const bool cmyk = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  jpeg.scale_num = 1;
  jpeg.scale_denom = static_cast<unsigned>(task.scaled);
}

/// Limits decoding to the columns the window needs and returns the first of them. Chroma is
/// interpolated from its neighbours, so the columns next to the window are decoded too, and always
/// enough of them that the library interpolates in the same way.
int crop_columns(jpeg_decompress_struct& jpeg, const Window& window) {
  const int width = static_cast<int>(jpeg.output_width);
  const int margin = std::max(2 * jpeg.max_h_samp_factor, (32 - window.w) / 2);
  const int left = std::max(0, window.x - margin);
  const int right = std::min(width, window.x + window.w + margin);
  if (left == 0 && right == width) return 0;
  JDIMENSION x = static_cast<JDIMENSION>(left), w = static_cast<JDIMENSION>(right - left);
  jpeg_crop_scanline(&jpeg, &x, &w);
  return static_cast<int>(x);
}

/// Reads rows until `rows` of them are in `out`.
void read_rows(jpeg_decompress_struct& jpeg, std::uint8_t* out, int rows, std::size_t stride,
               std::uint8_t* cmyk_row) {
  constexpr int kBurst = 16;  // the library makes at most this many rows at once
  const int pixels = static_cast<int>(jpeg.output_width);
  for (int row = 0; row < rows;) {
    if (cmyk_row != nullptr) {
      jpeg_read_scanlines(&jpeg, &cmyk_row, 1);
      cmyk_to_rgb(cmyk_row, out + static_cast<std::size_t>(row++) * stride, pixels,
                  jpeg.saw_Adobe_marker);
      continue;
    }
    JSAMPROW burst[kBurst];
    const int n = std::min(kBurst, rows - row);
    for (int i = 0; i < n; ++i) burst[i] = out + static_cast<std::size_t>(row + i) * stride;
    row += static_cast<int>(jpeg_read_scanlines(&jpeg, burst, static_cast<JDIMENSION>(n)));
  }
}

/// The library crops and skips without changing a pixel, except in pictures with sampling like 4 x
/// 2 that are also scaled: those are decoded from their corner on.
bool crops_well(const jpeg_decompress_struct& jpeg) {
  return jpeg.scale_denom == 1 || jpeg.max_h_samp_factor * jpeg.max_v_samp_factor <= 4;
}

PixelView decode_window(Session& session, const Window& window, PixelBuffer& buffer) {
  jpeg_decompress_struct& jpeg = session.jpeg;
  jpeg_start_decompress(&jpeg);
  const bool crop = crops_well(jpeg);
  const int left = crop ? crop_columns(jpeg, window) : 0, top = crop ? window.y : 0;
  const int rows = window.y - top + window.h;
  const std::size_t stride = std::size_t{jpeg.output_width} * kChannels;
  const std::size_t bytes = stride * static_cast<std::size_t>(rows);
  const bool cmyk = jpeg.out_color_space == JCS_CMYK;
  std::uint8_t* out = buffer.reserve(bytes + (cmyk ? std::size_t{jpeg.output_width} * 4 : 0));
  if (top > 0) jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(top));
  read_rows(jpeg, out, rows, stride, cmyk ? out + bytes : nullptr);
  out += static_cast<std::size_t>(window.y - top) * stride;
  return {out + static_cast<std::size_t>(window.x - left) * kChannels, window.w, window.h, stride};
}

/// False when libjpeg failed; `session.message` says why.
bool run(Session& session, const JpegTask& task, PixelBuffer& buffer, PixelView& view) {
  session.jpeg.err = jpeg_std_error(&session.errors);
  session.errors.error_exit = fail;
  session.errors.emit_message = on_message;
  session.jpeg.client_data = &session;
  if (setjmp(session.jump) != 0) return false;  // NOLINT(cert-err52-cpp): libjpeg's only way
  read_header(session, task);
  view = decode_window(session, task.window, buffer);
  return true;
}

}  // namespace

PixelView decode_with_libjpeg(const JpegTask& task, PixelBuffer& buffer) {
  Session session;
  PixelView view;
  if (!run(session, task, buffer, view)) {
    throw Error(ErrorKind::kCorrupt, std::string("damaged JPEG: ") + session.message);
  }
  return view;
}

}  // namespace packhorse::reader
