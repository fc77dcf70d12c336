#include "decode/band_window.h"

#include <algorithm>
#include <string>

#include "decode/colours.h"
#include "packhorse/base/error.h"
#include "packhorse/codecs/band_rows.h"

namespace packhorse::reader {

namespace {

std::string bits_of(int bits) {
  return bits == 32 ? "floating-point numbers" : std::to_string(bits) + " bits";
}

void check(const BandLayout& layout, const BandChoice& choice) {
  if (choice.of != 0 && layout.bands != choice.of)
    throw Error(ErrorKind::kUnsupported, "it has " + std::to_string(layout.bands) +
                                             " bands, and other images " +
                                             std::to_string(choice.of));
  const bool as_wanted = choice.bits == 0 ? !layout.is_float() : layout.bits == choice.bits;
  if (!as_wanted)
    throw Error(ErrorKind::kUnsupported,
                "its samples are of " + bits_of(layout.bits) + ", and those of other images of " +
                    (choice.bits == 0 ? "8 or 16 bits" : bits_of(choice.bits)));
}

}  // namespace

void decode_bands(Bytes file, const ImageInfo& info, const Window& window, const BandChoice& choice,
                  PixelBuffer& buffer, PixelSink& sink) {
  const auto rows =
      open_bands(file, info, {window.x, window.y, window.w, window.h}, choice.numbers);
  check(rows->layout, choice);
  const std::size_t stride =
      static_cast<std::size_t>(window.w) * choice.numbers.size() * sizeof(float);
  std::uint8_t* out = buffer.reserve(stride * kRowsTogether);
  sink.start();
  for (int y = 0; y < window.h; y += kRowsTogether) {
    const int count = std::min(kRowsTogether, window.h - y);
    for (int i = 0; i < count; ++i)
      rows->next_row(reinterpret_cast<float*>(out + static_cast<std::size_t>(i) * stride));
    sink.take({out, window.w, count, stride});
  }
}

}  // namespace packhorse::reader
