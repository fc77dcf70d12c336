// An LMDB file of another writer: the pages, and, where those pass, what the library makes of them.
#include "formats/lmdb/lmdb.h"
#include "packhorse/foreign_shard.h"
#include "support/fuzz.h"

namespace {

using namespace packhorse;

void look_at(ForeignShard& shard) {
  for (std::size_t i = 0; i < shard.size(); ++i) {
    const FoundSample found = shard.found(i);
    fuzz::touch(found.key);
    fuzz::touch(found.label);
    try {
      const StoredSample stored = shard.read(i);
      fuzz::touch(stored.bytes);
      for (const Field& field : stored.fields) fuzz::touch(field.bytes);
    } catch (const Error& error) {
      if (found.problem.empty()) throw;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  return fuzz::attempt(data, size, [](Bytes input) {
    file.hold(input);
    look_at(*lmdb::kForeignFormat.open_foreign(file.path(), {}));
  });
}
