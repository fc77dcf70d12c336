// A zip, by its central directory, and the names in its local headers.
#include "archive/archive_walk.h"
#include "support/fuzz.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  return fuzz::attempt(data, size, [](Bytes input) {
    file.hold(input);
    for (const std::uint64_t end : {input.size(), input.size() / 2})
      fuzz::touch(zip_name_before(file.fd(), end, file.path()).value_or(""));
    constexpr std::uint64_t kEnough = 1 << 20;  // bytes read of a bomb
    const auto zip = walk_zip(file.fd(), file.path());
    std::uint64_t seen = 0;
    for (Member member; seen < kEnough && zip->next(member);) {
      fuzz::touch(member.name);
      fuzz::touch(zip->head());
      try {
        for (Bytes some = zip->next_data(); !some.empty() && seen < kEnough;
             some = zip->next_data()) {
          fuzz::touch(some);
          seen += some.size();
        }
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kRejected) throw;
      }
    }
  });
}
