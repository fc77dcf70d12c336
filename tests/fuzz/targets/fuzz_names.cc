// Names of members and classes, and the parts they are split into.
#include "archive/archive_scan.h"
#include "base/printable.h"
#include "formats/wds/layout.h"
#include "listing/names.h"
#include "sources/webdataset/shard_names.h"
#include "support/fuzz.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::attempt(data, size, [](Bytes input) {
    const std::string_view name = as_text(input);
    if (const auto clean = naming::clean_path(name)) {
      const std::string inside = "/" + *clean + "/";
      fuzz::promise(!clean->empty() && inside.find("/../") == std::string::npos &&
                        inside.find("/./") == std::string::npos &&
                        inside.find("//") == std::string::npos &&
                        clean->find('\0') == std::string::npos,
                    "a clean path is one");
      fuzz::promise(naming::clean_path(*clean) == clean, "a clean path stays as it is");
    }
    if (const auto cut = wds::cut_member_name(name)) {
      fuzz::promise(cut->extension.find('/') == std::string::npos && name.starts_with(cut->key),
                    "a member's name is cut behind its key");
    }
    static_cast<void>(wds::is_meta_name(name));
    fuzz::touch(archive_stem(name));
    const std::string text = printable(name);
    fuzz::promise(is_utf8(text) && printable_text(text) == text, "a printable name is printable");
  });
}
