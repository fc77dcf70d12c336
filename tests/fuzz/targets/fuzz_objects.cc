// The objects of a sample, as shards hold them.
#include "support/fuzz.h"
#include "targets/pixel_map.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, [](Bytes input) {
    const Objects objects = decode_objects(input);
    const std::size_t n = objects.size();
    fuzz::promise(objects.labels.size() == n && objects.flags.size() == n,
                  "columns have a value each");
    fuzz::promise(decode_objects(encode_objects(objects)) == objects,
                  "objects are encoded as they are");
    const PixelMap half = {.scale_x = .5, .scale_y = .5, .turn = Turn(5), .width = 6, .height = 5};
    fuzz::touch(encode_objects(map_objects(objects, half, {10, 12})));
  });
}
