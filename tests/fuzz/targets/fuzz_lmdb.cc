// A foreign LMDB file: the pages, and, when those pass, what the library makes of them.
#include "formats/kinds.h"
#include "support/foreign_shard.h"
#include "support/fuzz.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  return fuzz::attempt(data, size, [](Bytes input) {
    file.hold(input);
    fuzz::read_all(*lmdb::kForeignFormat.open(file.path(), {}));
  });
}
