#include "sources/adoptable.h"

#include <algorithm>

#include "packhorse/base/file.h"
#include "packhorse/base/printable.h"
#include "packhorse/formats/foreign_shard.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

bool is_foreign_shard(const fs::path& path) {
  const auto formats = foreign_formats();
  return std::any_of(formats.begin(), formats.end(),
                     [&](const ForeignFormat* format) { return format->find(path).has_value(); });
}

}  // namespace

std::string advice_to_adopt(const fs::path& path) {
  std::error_code code;
  bool found = is_foreign_shard(path);
  if (!found && fs::is_directory(path, code)) {
    const auto entries = entries_in(path);
    found = std::any_of(entries.begin(), entries.end(), [](const fs::directory_entry& entry) {
      return is_foreign_shard(entry.path());
    });
  }
  if (!found) return {};
  return "it holds shards of another writer: `packhorse index " + printable(path.native()) +
         "` makes them a dataset without rewriting them, which can then be packed";
}

}  // namespace packhorse
