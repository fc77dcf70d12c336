// The reader's chain of JPEG decoders, libjpeg at its end: slices of files with a table of rows,
// windows, scales.
#include "base/hash.h"
#include "codecs/image_header.h"
#include "decode/jpeg_decoder.h"
#include "support/fuzz.h"

namespace {

using namespace packhorse;
using namespace packhorse::reader;

class Rows final : public PixelSink {
 public:
  void start() override { rows_ = 0; }
  void take(const PixelView& view) override {
    const std::size_t last = view.stride * static_cast<std::size_t>(view.height - 1) +
                             static_cast<std::size_t>(view.width * kChannels);
    fuzz::touch(std::as_bytes(std::span(view.data, last)));
    rows_ += view.height;
  }
  int rows() const { return rows_; }

 private:
  int rows_ = 0;
};

void look_at(Bytes file) {
  const ProbeResult probe = probe_image(file, ImageLimits::of_pixels(1 << 16));
  if (!probe.info || probe.info->kind != ImageKind::kJpeg) return;
  std::uint64_t random = xxh3(file);
  const auto draw = [&](int below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((random >> 33) % static_cast<std::uint64_t>(below));
  };
  const int scaled = 1 << draw(4);
  const int width = (static_cast<int>(probe.info->width) + scaled - 1) / scaled,
            height = (static_cast<int>(probe.info->height) + scaled - 1) / scaled;
  Window window{draw(width), draw(height), 0, 0};
  window.w = 1 + draw(width - window.x);
  window.h = 1 + draw(height - window.y);
  static const auto decoders = make_jpeg_decoders();
  PixelBuffer buffer;
  Rows rows;
  decode_jpeg(decoders, {file, *probe.info, window, scaled}, buffer, rows);
  fuzz::promise(rows.rows() == window.h, "a window has all its rows");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, look_at);
}
