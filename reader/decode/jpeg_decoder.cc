#include "decode/jpeg_decoder.h"

#include <array>

#include "decode/colours.h"
#include "packhorse/base/error.h"
#include "packhorse/jpeg/decoder.h"

namespace packhorse::reader {

namespace {

/// Decodes with packhorse::jpeg, which takes most photos. Refuses damaged files too: libjpeg says
/// what is wrong with them.
class OwnDecoder : public JpegDecoder {
 public:
  bool decode(const JpegTask& task, PixelBuffer& buffer, PixelSink& sink) override;
  void count(DecodeCounters& counters) const override;
  std::size_t kept_bytes() const override { return scratch_.kept_bytes(); }

 private:
  jpeg::Scratch scratch_;

  DecodeCounters counters_;
};

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

void decode_with_libjpeg(const JpegTask& task, PixelBuffer& buffer, PixelSink& sink) {
  decode_colours(task.file, task.info, task.window, buffer, sink, 8 / task.scaled);
}

/// Decodes the restart segments of a crop, if the file has a table of them.
class SliceDecoder : public JpegDecoder {
 public:
  bool decode(const JpegTask& task, PixelBuffer& buffer, PixelSink& sink) override {
    const std::optional<JpegSlice> slice = slice_jpeg(task, slice_);
    if (!slice) return false;
    decode_with_libjpeg(slice->task, buffer, sink);
    return true;
  }
  std::size_t kept_bytes() const override { return slice_.capacity(); }

 private:
  PixelBuffer slice_;
};

class WholeFileDecoder : public JpegDecoder {
 public:
  bool decode(const JpegTask& task, PixelBuffer& buffer, PixelSink& sink) override {
    decode_with_libjpeg(task, buffer, sink);
    return true;
  }
};

template <class Decoder>
std::unique_ptr<JpegDecoder> make() {
  return std::make_unique<Decoder>();
}

/// The decoders, in the order in which they are asked. A new one is a line here.
constexpr std::array kDecoders = {make<OwnDecoder>, make<SliceDecoder>, make<WholeFileDecoder>};

}  // namespace

std::vector<std::unique_ptr<JpegDecoder>> make_jpeg_decoders() {
  std::vector<std::unique_ptr<JpegDecoder>> decoders;
  for (const auto& make_one : kDecoders) decoders.push_back(make_one());
  return decoders;
}

void decode_jpeg(std::span<const std::unique_ptr<JpegDecoder>> decoders, const JpegTask& task,
                 PixelBuffer& buffer, PixelSink& sink) {
  for (const std::unique_ptr<JpegDecoder>& decoder : decoders) {
    if (decoder->decode(task, buffer, sink)) return;
  }
  throw Error(ErrorKind::kUnsupported, "no JPEG decoder supports it");
}

}  // namespace packhorse::reader
