// A NumPy file: its header, and that of a picture.
#include "image/npy.h"
#include "support/fuzz.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::attempt(data, size, [](Bytes input) {
    const NpyHeader header = parse_npy_header(input);
    fuzz::promise(header.bytes <= input.size(), "a header lies inside its file");
    fuzz::touch(header.type);
  });
  return fuzz::attempt(data, size, [](Bytes input) { fuzz::touch(npy_pixels(input)); });
}
