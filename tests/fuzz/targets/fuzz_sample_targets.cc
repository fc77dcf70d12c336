// What is said of a sample besides its label and objects: the field of its classes, a mask, COCO's
// captions, tables of classes; the first byte says which.
#include <algorithm>
#include <array>

#include "annotations/class_table.h"
#include "annotations/coco_file.h"
#include "packhorse/targets/class_set.h"
#include "packhorse/targets/label_image.h"
#include "support/fuzz.h"
#include "targets/pixel_map.h"

using namespace packhorse;

namespace {

constexpr std::uint8_t kIgnored = 255;
constexpr std::uint32_t kLargest = 256;  // masks larger than that only take more time

void classes(Bytes input) {
  const ClassSet set = decode_classes(input);
  const std::vector<std::byte> again = encode_classes(set);
  fuzz::promise(std::ranges::equal(again, input), "what is read is what was stored");
}

void mask(Bytes input) {
  const LabelImage size = label_image_size(input);
  if (size.width > kLargest || size.height > kLargest) return;
  const LabelImage image = decode_label_image(input, size.width, size.height);
  fuzz::promise(image.labels.size() == std::size_t{image.width} * image.height, "a label a pixel");
  const PixelMap half{.scale_x = .5,
                      .scale_y = .5,
                      .turn = Turn(8),
                      .width = (image.width + 1) / 2,
                      .height = (image.height + 1) / 2};
  const LabelImage mapped = map_labels(image, half, kIgnored);
  fuzz::touch(std::as_bytes(std::span(mapped.labels)));
}

void captions(Bytes input) {
  static fuzz::MemoryFile file(".json");
  file.hold(input);
  for (const CocoCaption& caption : read_coco_captions(file.path()))
    fuzz::promise(caption.text.find('\n') == std::string::npos, "a caption is one line");
}

/// The last byte chooses the column.
void table(Bytes input) {
  static fuzz::MemoryFile file(".csv");
  if (input.empty() || fuzz::has_long_number(input)) return;
  file.hold(input.first(input.size() - 1));
  const bool columns = (std::to_integer<int>(input.back()) & 1) != 0;
  ClassTable table({file.path(), columns ? "*" : "tags"});
  LabelNames names({table.columns().begin(), table.columns().end()});
  table.add_to(names);
  names.finish();
  table.resolve(names);
  for (std::size_t i = 0; i < table.file().labels().size(); ++i) {
    for (const std::int32_t label : table.classes(static_cast<std::int64_t>(i)).labels)
      fuzz::promise(static_cast<std::size_t>(label) < names.classes().size(),
                    "a class of the list");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::array kParsers = {classes, mask, captions, table};
  return fuzz::attempt(data + 1, size - 1, kParsers[data[0] % kParsers.size()]);
}
