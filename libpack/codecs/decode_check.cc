#include "codecs/decode_check.h"

#include <algorithm>
#include <limits>

#include "codecs/row_source.h"
#include "packhorse/base/error.h"
#include "packhorse/jpeg/coefficients.h"

namespace packhorse {

namespace {

class Nowhere final : public jpeg::CoefficientSink {
 public:
  void take_mcu_row(const std::int16_t*) override {}
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
    if (image.size() == std::uint64_t{info.width} * info.height * info.components) return;
    throw Error(ErrorKind::kCorrupt, "raw pixels of another size than the index says");
  }
  if (info.kind == ImageKind::kJpeg && is_sound_jpeg(image, info)) return;
  constexpr int kFull = std::numeric_limits<int>::max();
  const auto rows = open_rows(image, info, kFull, kFull);
  for (int y = 0; y < rows->height; ++y) static_cast<void>(rows->next_row());
}

}  // namespace packhorse
