#include "decode/jpeg_own.h"

namespace packhorse::reader {

namespace {

/// Passes the decoder's rows on to a PixelSink.
class Rows : public jpeg::RowSink {
 public:
  static_assert(kSlack >= PixelBuffer::kSlack);
  Rows(int width, PixelSink& sink) : width_(width), sink_(sink) {}
  void take(const std::uint8_t* rows, std::size_t stride, std::uint32_t count) override {
    sink_.take({rows, width_, static_cast<int>(count), stride});
  }

 private:
  int width_;
  PixelSink& sink_;
};

}  // namespace

bool OwnDecoder::decode(const JpegTask& task, PixelBuffer& /*buffer*/, PixelSink& sink) {
  const Window& w = task.window;
  const jpeg::Window window{static_cast<std::uint32_t>(w.x), static_cast<std::uint32_t>(w.y),
                            static_cast<std::uint32_t>(w.w), static_cast<std::uint32_t>(w.h)};
  Rows rows(w.w, sink);
  sink.start();
  jpeg::Result result =
      jpeg::decode(task.file, window, rows, scratch_, static_cast<jpeg::Scale>(task.scaled));
  if (result.done() && (result.width != task.info.width || result.height != task.info.height)) {
    result.reason = jpeg::Reason::kDamaged;  // two headers
  }
  if (!result.done()) {
    ++counters_.by_libjpeg[static_cast<std::size_t>(result.reason)];
    return false;
  }
  ++counters_.jpegs;
  return true;
}

void OwnDecoder::count(DecodeCounters& counters) const {
  counters.jpegs += counters_.jpegs;
  for (std::size_t i = 0; i < counters.by_libjpeg.size(); ++i) {
    counters.by_libjpeg[i] += counters_.by_libjpeg[i];
  }
}

}  // namespace packhorse::reader
