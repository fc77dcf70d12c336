#include <fmt/format.h>

#include <charconv>

#include "formats/format.h"
#include "packhorse/base/error.h"
#include "packhorse/packing/pack.h"
#include "transforms/transform.h"

namespace packhorse {

TaskShare TaskShare::parse(const std::string& text) {
  TaskShare share;
  const char* const end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, share.index);
  if (index.ec == std::errc() && index.ptr != end && *index.ptr == '/') {
    const auto count = std::from_chars(index.ptr + 1, end, share.count);
    if (count.ec == std::errc() && count.ptr == end && share.index < share.count) return share;
  }
  throw Error(ErrorKind::kUsage, "'" + text + "' is not a valid task", {},
              "give I/N with 0 <= I < N, e.g. 0/8 to 7/8");
}

int parse_zstd_level(const std::string& text) {
  constexpr int kUsual = 3;
  if (text == "zstd") return kUsual;
  int level = 0;
  if (text.starts_with("zstd:")) {
    const char* const end = text.data() + text.size();
    const auto [stopped, code] = std::from_chars(text.data() + 5, end, level);
    if (code == std::errc() && stopped == end && level >= 1 && level <= 19) return level;
  }
  throw Error(ErrorKind::kUsage, "'" + text + "' is not a valid compression", {},
              "give zstd, or zstd:1 to zstd:19");
}

void PackOptions::validate() const {
  const Format& chosen = find_format(format);
  find_transform(image);
  transform.validate();
  select.validate();
  if (jobs < 0) throw Error(ErrorKind::kUsage, "jobs must not be negative");
  limits.validate();
  if (memory < kLeastMemory)
    throw Error(ErrorKind::kUsage, "the list of samples needs at least 16 MiB of memory", {},
                "give `memory=16MiB` or more");
  if (task && task->index >= task->count)
    throw Error(ErrorKind::kUsage, "`task=I/N` needs 0 <= I < N");
  if (task && finish)
    throw Error(ErrorKind::kUsage,
                "`task=` packs and `finish=true` publishes: one call cannot do both");
  if (zstd_level != 0 && chosen.compressed_suffix.empty()) {
    throw Error(ErrorKind::kUsage,
                "the format " + format + " cannot be compressed: its readers expect plain bytes",
                {}, "leave out `compress=`, or choose another format");
  }
}

}  // namespace packhorse
