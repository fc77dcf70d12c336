// The pixels of an image file of any kind but JPEG, which has targets of its own, and those whose
// libraries are loaded: these leak on damaged files.
#include "codecs/band_rows.h"
#include "support/fuzz.h"

using namespace packhorse;

namespace {

void show(Bytes input, const ImageLimits& limits) {
  const ProbeResult probe = probe_image(input, limits);
  if (!probe.info) return;
  const std::vector<int> bands = all_bands(band_layout(input, *probe.info));
  const auto stored = open_bands(input, *probe.info, {}, bands);
  std::vector<float> numbers(static_cast<std::size_t>(stored->width) * bands.size());
  for (int y = 0; y < stored->height; ++y) stored->next_row(numbers.data());
  fuzz::touch(std::as_bytes(std::span(numbers)));
  if (!why_no_colours(probe.layout).empty()) return;
  const auto image = open_colours(input, *probe.info);
  const auto row = static_cast<std::size_t>(image->width * image->channels);
  for (int y = 0; y < image->height; ++y)
    fuzz::touch(std::as_bytes(std::span(image->next_row(), row)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, [](Bytes input) {
    ImageLimits limits;
    limits.pixels = 1 << 16;
    limits.decoded_bytes = 1 << 24;
    limits = limits.of_packed();
    switch (sniff_image(input)) {
      case ImageKind::kJpeg:
      case ImageKind::kAvif:
      case ImageKind::kHeic:
      case ImageKind::kJxl:
        return;
      default:
        break;
    }
    show(input, limits);
    limits.pages_as_bands = true;
    show(input, limits);
  });
}
