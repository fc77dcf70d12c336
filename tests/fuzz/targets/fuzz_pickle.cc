// Values pickled by torch.save(), with 64 bytes for every storage that they name.
#include <ATen/ops/empty.h>

#include "checkpoint/unpickle.h"
#include "support/torch.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const c10::Storage storage = at::empty({64}, at::kByte).storage();
  return fuzz::attempt_with_torch(data, size, [](Bytes input) {
    static_cast<void>(trainer::unpickle(input, [](const std::string&) { return storage; }));
  });
}
