// A NumPy file.
#include "packhorse/image/npy.h"
#include "support/fuzz.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, [](Bytes input) { fuzz::touch(npy_pixels(input)); });
}
