#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "packhorse/decimal.h"
#include "packhorse/error.h"
#include "packhorse/pack.h"

namespace packhorse {

std::uint64_t RejectLimit::allowed(std::uint64_t seen) const {
  return percent
             ? static_cast<std::uint64_t>(std::floor(*percent / 100 * static_cast<double>(seen)))
             : count;
}

RejectLimit RejectLimit::parse(const std::string& text) {
  RejectLimit limit;
  if (text.ends_with('%')) {
    limit.percent = parse_decimal(std::string_view(text).substr(0, text.size() - 1));
    if (limit.percent && *limit.percent <= 100) return limit;
  } else {
    const char* const end = text.data() + text.size();
    const auto [stopped, code] = std::from_chars(text.data(), end, limit.count);
    if (code == std::errc() && stopped == end) return limit;
  }
  throw Error(ErrorKind::kUsage, "'" + text + "' is no limit for rejects", {},
              "say a number, or a percentage like 0.5%");
}

TaskShare TaskShare::parse(const std::string& text) {
  TaskShare share;
  const char* const end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, share.index);
  if (index.ec == std::errc() && index.ptr != end && *index.ptr == '/') {
    const auto count = std::from_chars(index.ptr + 1, end, share.count);
    if (count.ec == std::errc() && count.ptr == end && share.index < share.count) return share;
  }
  throw Error(ErrorKind::kUsage, "'" + text + "' is no task", {},
              "say I/N with I from 0 to N - 1, e.g. 0/8 to 7/8");
}

void PackOptions::validate() const {
  const Format& chosen = find_format(format);
  if (chosen.open_writer == nullptr) {
    std::string names;
    for (const Format* other : all_formats())
      names += (names.empty() ? "" : ", ") + std::string(other->name);
    throw Error(ErrorKind::kUsage,
                "the format " + format + " is what others write; packhorse only reads it", {},
                "choose one of: " + names);
  }
  find_transform(image);
  transform.validate();
  select.validate();
  if (jobs < 0) throw Error(ErrorKind::kUsage, "jobs must not be negative");
  if (max_pixels == 0) throw Error(ErrorKind::kUsage, "the pixel limit must be positive");
  if (task && task->index >= task->count)
    throw Error(ErrorKind::kUsage, "tasks are counted from 0 to their number less one");
  if (task && finish)
    throw Error(ErrorKind::kUsage, "a task packs and a finish publishes: one call cannot do both");
  if (zstd_level != 0 && chosen.compressed_suffix.empty()) {
    throw Error(ErrorKind::kUsage,
                "the format " + format + " has no compressed form, as readers expect plain bytes",
                {}, "leave out the compression, or choose another format");
  }
}

}  // namespace packhorse
