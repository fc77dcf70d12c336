#include "jpeg_own.h"

namespace packhorse::reader {

std::optional<PixelView> OwnDecoder::decode(const JpegTask& task, PixelBuffer& buffer) {
  const Window& w = task.window;
  const std::size_t stride = static_cast<std::size_t>(w.w) * kChannels;
  const std::size_t bytes = stride * static_cast<std::size_t>(w.h);
  std::uint8_t* pixels = buffer.reserve(bytes);
  const jpeg::Window window{static_cast<std::uint32_t>(w.x), static_cast<std::uint32_t>(w.y),
                            static_cast<std::uint32_t>(w.w), static_cast<std::uint32_t>(w.h)};
  jpeg::Result result = jpeg::decode(task.file, window, {{pixels, bytes}, stride}, scratch_,
                                     static_cast<jpeg::Scale>(task.scaled));
  if (result.done() && (result.width != task.info.width || result.height != task.info.height)) {
    result.reason = jpeg::Reason::kDamaged;  // two headers
  }
  if (!result.done()) {
    ++counters_.by_libjpeg[static_cast<std::size_t>(result.reason)];
    return std::nullopt;
  }
  ++counters_.jpegs;
  return PixelView{pixels, w.w, w.h, stride};
}

void OwnDecoder::count(DecodeCounters& counters) const {
  counters.jpegs += counters_.jpegs;
  for (std::size_t i = 0; i < counters.by_libjpeg.size(); ++i) {
    counters.by_libjpeg[i] += counters_.by_libjpeg[i];
  }
}

}  // namespace packhorse::reader
