// A foreign tar as a shard: samples, labels, fields, and the names for other readers.
#include "formats/wds/layout.h"
#include "formats/wds/wds.h"
#include "support/foreign_shard.h"
#include "support/fuzz.h"
#include "support/tar_checksums.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file("input.tar");
  fuzz::attempt(data, size, [](Bytes input) {
    file.hold(fuzz::with_tar_checksums(input));
    fuzz::read_all(*wds::kForeignFormat.open(file.path(), {}));
  });
  return fuzz::attempt(data, size, [](Bytes input) {
    const auto visit = [&](std::string_view name, ByteRange range) {
      fuzz::promise(range.offset <= input.size(), "a member lies in its archive");
      if (const auto cut = wds::cut_member_name(name)) fuzz::touch(cut->extension);
      static_cast<void>(wds::is_meta_name(name));
    };
    wds::visit_members_by_headers(file.fd(), file.path(), visit);
  });
}
