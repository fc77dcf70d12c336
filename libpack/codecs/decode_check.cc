#include "codecs/decode_check.h"

#include "codecs/codec.h"
#include "packhorse/base/stop.h"
#include "packhorse/codecs/colour_rows.h"
#include "packhorse/jpeg/coefficients.h"

namespace packhorse {

namespace {

class Nowhere final : public jpeg::CoefficientSink {
 public:
  void take_mcu_row(const std::int16_t*) override { obey_stop(); }
};

/// Whether our decoder accounts for every bit of the scan. Any coefficients make pixels, so the
/// pixels need not be computed. It never takes what libjpeg would warn about (docs/jpeg.md).
bool is_sound_jpeg(Bytes image, const ImageInfo& info) {
  thread_local jpeg::Scratch scratch;
  Nowhere nowhere;
  const jpeg::Result result = jpeg::decode_coefficients(image, nowhere, scratch);
  return result.done() && result.width == info.width && result.height == info.height;
}

}  // namespace

void decode_strictly(Bytes image, const ImageInfo& info) {
  if (info.kind == ImageKind::kRaw) {
    static_cast<void>(codecs::header_to_open(image, info));
  } else if (info.kind == ImageKind::kJpeg) {
    if (is_sound_jpeg(image, info)) return;
    const auto rows = open_colours(image, info);
    for (int y = 0; y < rows->height; ++y) static_cast<void>(rows->next_row());
  } else {
    const Region all = codecs::region_of({}, info);
    const codecs::OpenedPixels opened = codecs::open_pixels(image, info, all);
    for (int y = 0; y < all.height; ++y) {
      obey_stop();
      static_cast<void>(opened.rows->next());
    }
  }
}

}  // namespace packhorse
