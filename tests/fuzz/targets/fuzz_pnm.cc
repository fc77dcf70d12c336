// The pixels of a PNM file that the probe has accepted. Other kinds are decoded by libraries.
#include <vector>

#include "packhorse/image/decoded_image.h"
#include "support/fuzz.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, [](Bytes input) {
    const ProbeResult probe = probe_image(input, ImageLimits::of_pixels(1 << 16));
    if (!probe.info || probe.info->kind != ImageKind::kPnm) return;
    const auto image = decode_image(input, *probe.info);
    std::vector<std::uint8_t> row(static_cast<std::size_t>(image->width * image->channels));
    for (int y = 0; y < image->height; ++y) image->read(0, y, image->width, row.data());
    fuzz::touch(std::as_bytes(std::span(row)));
  });
}
