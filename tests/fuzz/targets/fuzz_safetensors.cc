// A safetensors file.
#include "checkpoint/weight_files.h"
#include "support/torch.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  return fuzz::attempt_with_torch(data, size, [](Bytes input) {
    file.hold(input);
    for (const auto& [name, tensor] : trainer::read_safetensors(file.path())) {
      fuzz::touch(name);
      fuzz::touch({static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()});
    }
  });
}
