// The zip file that torch.save() makes.
#include "checkpoint/weight_files.h"
#include "support/torch.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  return fuzz::attempt_with_torch(data, size, [](Bytes input) {
    file.hold(input);
    static_cast<void>(trainer::read_torch_zip(file.path()));
  });
}
