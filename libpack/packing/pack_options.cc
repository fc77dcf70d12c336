#include <fmt/format.h>

#include "base/text.h"
#include "formats/format.h"
#include "packhorse/base/error.h"
#include "packhorse/packing/pack.h"
#include "transforms/transform.h"

namespace packhorse {

TaskShare TaskShare::parse(const std::string& text) {
  if (const auto share = parse_part<std::size_t>(text)) return {share->first, share->second};
  throw Error(ErrorKind::kUsage, "'" + text + "' is not a valid task", {},
              "give I/N with 0 <= I < N, e.g. 0/8 to 7/8");
}

int parse_zstd_level(const std::string& text) {
  constexpr int kUsual = 3;
  if (text == "zstd") return kUsual;
  if (text.starts_with("zstd:")) {
    const int level = parse_number<int>(text.substr(5)).value_or(0);
    if (level >= 1 && level <= 19) return level;
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
