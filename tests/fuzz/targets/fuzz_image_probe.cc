// The header of an image of any kind.
#include "codecs/image_header.h"
#include "support/fuzz.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, [](Bytes input) {
    const ProbeResult probe = probe_image(input);
    fuzz::promise(probe.info.has_value() == probe.reason.empty(), "an image, or a reason");
    if (!probe.info) return;
    const ImageInfo& info = *probe.info;
    fuzz::promise(info.kind == sniff_image(input), "the kind by the first bytes");
    fuzz::promise(info.width > 0 && info.height > 0 &&
                      std::uint64_t{info.width} * info.height <= kDefaultMaxPixels,
                  "a size within the limit");
    fuzz::promise(info.orientation >= 1 && info.orientation <= 8, "one of eight orientations");
  });
}
