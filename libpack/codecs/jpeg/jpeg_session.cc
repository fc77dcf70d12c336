#include "codecs/jpeg/jpeg_session.h"

#include <jerror.h>

#include <new>

namespace packhorse {

namespace {

// Real progressive files have about ten scans; very many are an attack on our time.
constexpr int kMaxScans = 500;

JpegSession& session_of(j_common_ptr jpeg) { return *static_cast<JpegSession*>(jpeg->client_data); }

}  // namespace

JpegSession::JpegSession(Bytes file) {
  jpeg_.err = jpeg_std_error(&errors_);
  errors_.error_exit = on_error;
  errors_.emit_message = on_message;
  jpeg_.client_data = this;
  try {
    run([&] {
      jpeg_create_decompress(&jpeg_);
      progress_.progress_monitor = on_progress;
      jpeg_.progress = &progress_;
      jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    });
  } catch (...) {
    jpeg_destroy_decompress(&jpeg_);
    throw;
  }
}

void JpegSession::on_error(j_common_ptr jpeg) {
  JpegSession& session = session_of(jpeg);
  session.no_memory_ = jpeg->err->msg_code == JERR_OUT_OF_MEMORY;
  jpeg->err->format_message(jpeg, session.message_);
  std::longjmp(session.jump_, 1);
}

void JpegSession::on_message(j_common_ptr jpeg, int level) {
  if (level < 0) on_error(jpeg);
}

void JpegSession::on_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMaxScans) return;
  JpegSession& session = session_of(jpeg);
  std::snprintf(session.message_, sizeof session.message_, "more than %d scans", kMaxScans);
  std::longjmp(session.jump_, 1);
}

void JpegSession::throw_message() const {
  if (no_memory_) throw std::bad_alloc();  // no fault of the file
  throw Error(ErrorKind::kCorrupt, std::string("damaged JPEG: ") + message_);
}

void JpegSession::keep_markers() {
  run([&] {
    for (int n = 0; n < 16; ++n) jpeg_save_markers(&jpeg_, JPEG_APP0 + n, 0xffff);
    jpeg_save_markers(&jpeg_, JPEG_COM, 0xffff);
  });
}

void JpegSession::read_header(std::uint32_t width, std::uint32_t height) {
  run([&] { jpeg_read_header(&jpeg_, TRUE); });
  if (jpeg_.image_width != width || jpeg_.image_height != height) {
    throw Error(ErrorKind::kCorrupt, "damaged JPEG: two headers of different sizes");
  }
}

}  // namespace packhorse
