// The lossless transcode of the image mode "roi", and the table that it leaves in its files.
#include "codecs/image_header.h"
#include "jpeg/decode/roi_layout.h"
#include "support/fuzz.h"
#include "transforms/transform.h"

namespace {

using namespace packhorse;

void look_at_table(Bytes file) {
  const std::optional<RoiTable> table = find_roi_table(file);
  if (!table) return;
  for (std::uint32_t row = 0; row < table->mcu_rows; ++row) {
    const ByteRange bytes = table->row_bytes(row);
    fuzz::promise(table->row_begin(row) <= table->row_begin(row + 1) && bytes.end() <= file.size(),
                  "rows lie in the file, one behind the other");
  }
}

void look_at(Bytes file) {
  look_at_table(file);
  const ProbeResult probe = probe_image(file, ImageLimits::of_pixels(1 << 16));
  if (!probe.info || probe.info->kind != ImageKind::kJpeg) return;
  TransformOptions options;
  options.restart_mcus = 1 + static_cast<int>(file.size() % 8);
  const auto roi = find_transform("roi").make(options);
  ImageInfo info = *probe.info;
  std::vector<std::byte> once, twice;
  const Transformed made = roi->apply(file, info, once);
  if (!made.note.empty()) return;
  look_at_table(made.bytes);
  const Transformed again = roi->apply(made.bytes, info, twice);
  fuzz::promise(as_text(again.bytes) == as_text(made.bytes),
                "what was transcoded before comes out the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, look_at);
}
