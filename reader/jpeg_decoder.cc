#include "jpeg_decoder.h"

#include <array>

#include "jpeg_libjpeg.h"
#include "jpeg_own.h"
#include "jpeg_slice.h"
#include "packhorse/error.h"

namespace packhorse::reader {

namespace {

/// The segments of a crop, if the file has restart markers and a table of them.
class SliceDecoder : public JpegDecoder {
 public:
  std::optional<PixelView> decode(const JpegTask& task, PixelBuffer& buffer) override {
    const std::optional<JpegSlice> slice = slice_jpeg(task, slice_);
    if (!slice) return std::nullopt;
    return decode_with_libjpeg(slice->task, buffer);
  }
  std::size_t kept_bytes() const override { return slice_.capacity(); }

 private:
  PixelBuffer slice_;
};

class WholeFileDecoder : public JpegDecoder {
 public:
  std::optional<PixelView> decode(const JpegTask& task, PixelBuffer& buffer) override {
    return decode_with_libjpeg(task, buffer);
  }
};

template <class Decoder>
std::unique_ptr<JpegDecoder> make() {
  return std::make_unique<Decoder>();
}

/// A decoder is one line here.
constexpr std::array kDecoders = {make<OwnDecoder>, make<SliceDecoder>, make<WholeFileDecoder>};

}  // namespace

std::vector<std::unique_ptr<JpegDecoder>> make_jpeg_decoders() {
  std::vector<std::unique_ptr<JpegDecoder>> decoders;
  for (const auto& make_one : kDecoders) decoders.push_back(make_one());
  return decoders;
}

PixelView decode_jpeg(std::span<const std::unique_ptr<JpegDecoder>> decoders, const JpegTask& task,
                      PixelBuffer& buffer) {
  for (const std::unique_ptr<JpegDecoder>& decoder : decoders) {
    if (const std::optional<PixelView> view = decoder->decode(task, buffer)) return *view;
  }
  throw Error(ErrorKind::kUnsupported, "no JPEG decoder takes it");
}

}  // namespace packhorse::reader
