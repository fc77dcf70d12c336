// A tar, header by header and through libarchive, read from memory in pieces of any size.
#include "archive/archive_walk.h"
#include "archive/tar_header.h"
#include "support/fuzz.h"
#include "support/memory_stream.h"
#include "support/tar_checksums.h"

namespace {

using namespace packhorse;

void walk(Bytes file, std::size_t piece, bool skips, unsigned read) {
  const auto tar =
      walk_tar(std::make_unique<fuzz::MemoryStream>(file, piece, skips), "input.tar", true);
  for (Member member; tar->next(member);) {
    fuzz::touch(member.name);
    fuzz::touch(member.link);
    fuzz::promise(tar->data_offset() <= file.size(), "a member's data begin inside the archive");
    if (read > 0) fuzz::touch(tar->head());
    if (read < 2) continue;
    try {
      for (Bytes some = tar->next_data(); !some.empty(); some = tar->next_data()) fuzz::touch(some);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kRejected) throw;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::attempt(data, size, [](Bytes input) {
    if (is_tar_header(input)) fuzz::touch(parse_tar_headers(input).name);
  });
  return fuzz::attempt(data, size, [](Bytes input) {
    fuzz::Choices choices(input);
    const unsigned choice = choices.next();
    static constexpr std::size_t kPieces[] = {100, 512, 1000, 10240};
    const std::vector<std::byte> file = fuzz::with_tar_checksums(input);
    walk(file, kPieces[choice & 3], (choice & 4) != 0, choice >> 3 & 3);
  });
}
