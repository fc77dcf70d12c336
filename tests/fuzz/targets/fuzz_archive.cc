// An archive of any kind as a source: nested archives, members by their names, images among them.
#include "archive/archive_walk.h"
#include "sources/archive/archive_contents.h"
#include "sources/layout/attach_fields.h"
#include "sources/layout/layout.h"
#include "support/fuzz.h"
#include "support/tar_checksums.h"

namespace {

using namespace packhorse;

void look_at(const std::filesystem::path& path) {
  FieldChoice choice{.names = std::vector<std::string>{"json", "txt"}};
  choice.places = {{"seg.png", "masks", false}, {"xml", "{dir}/{stem%_a}_b.xml", false}};
  static const FieldSet kFields(choice, path);
  Payloads payloads("/dev/shm");
  const std::uint32_t number = payloads.add_file(path);
  SourceContents contents = read_contents(payloads, number, path, kFields);
  payloads.seal();
  Input read;
  for (std::size_t i = 0; i < contents.images.size(); ++i) {
    const EntryTable::Entry entry = contents.images[i];
    const std::string inside = "/" + entry.path + "/";
    fuzz::promise(
        inside.find("/../") == std::string::npos && inside.find("//") == std::string::npos,
        "a path stays inside its archive");
    payloads.read(entry, read);
    fuzz::touch(read.bytes);
  }
  for (const Reject& reject : contents.outside) fuzz::touch(reject.path);
  const ListOptions options;
  const Layout layout = find_layout(contents, kFields, options, path);
  Listing listing = lay_out(contents, layout, options, path);
  fuzz::touch(listing.classes.empty() ? "" : "classes");
  try {
    attach_fields(listing, layout, kFields, std::move(contents.field_files), path,
                  [](auto&, auto&) {});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file("input.tar");
  return fuzz::attempt(data, size, [](Bytes input) {
    file.hold(fuzz::with_tar_checksums(input));
    look_at(file.path());
  });
}
