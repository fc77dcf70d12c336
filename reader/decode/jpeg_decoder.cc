#include "decode/jpeg_decoder.h"

#include <array>

#include "decode/colours.h"
#include "decode/jpeg_own.h"
#include "decode/jpeg_slice.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

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
