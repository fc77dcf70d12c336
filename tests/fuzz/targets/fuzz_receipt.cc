// The receipt of a finished shard, written by another run.
#include "packing/receipt.h"
#include "support/fuzz.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  return fuzz::attempt(data, size, [](Bytes input) {
    file.hold(input);
    ShardOutcome outcome;
    outcome.record.file = outcome.record.index = "none";
    static_cast<void>(read_receipt(file.path(), "inputs", "/nowhere", {}, outcome));
    for (const Reject& reject : outcome.rejects) fuzz::touch(reject.reason);
  });
}
