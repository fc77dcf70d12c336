#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "walkers/walk_task.h"

/// The messages between a walker and the process that does its walks: JSON, one object a line.
///
///     walker  -> process   {"kind", "format", "data", "index", "adopted", "first", "rows",
///                           "cpu_s", "memory", "limits" (of images to be decoded),
///                           "foreign" (what of a shard to describe)}
///     process -> walker    {"finding": {"kind", "row", "about_bytes", "detail"}}      any number
///     process -> walker    {"end": "done", "signal": 0, "row": 42, "detail": ""}      one a task
///
/// The first member says what a line is; the lines of a description are in adopting/describe.cc.
/// Paths may hold any bytes and are written in hexadecimal.
namespace packhorse {

/// How a walk ended.
struct WalkEnd {
  enum class Kind { kDone, kCrashed, kTime, kMemory, kFailed } kind = Kind::kFailed;
  int signal = 0;         ///< kCrashed
  std::int64_t row = -1;  ///< the row being looked at when it ended
  std::string detail;     ///< kFailed
};

/// Puts an end other than kDone into words: `who` crashed on it, or it could not be `done`, ...
std::string words_of(const WalkEnd& end, const std::string& who, const std::string& done);

/// The bounds of one walk; see WalkLimits.
struct WalkBounds {
  std::uint64_t cpu_s = 60;
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;  ///< beyond what the process already has
};

/// Converts any bytes to text and back.
std::string to_hex(std::string_view bytes);
std::string from_hex(std::string_view text);

std::string task_line(const WalkTask& task, const WalkBounds& bounds);
/// Returns nothing for a line that is not a task.
std::optional<std::pair<WalkTask, WalkBounds>> parse_task(std::string_view line);

std::string finding_line(const WalkFinding& finding);
std::optional<WalkFinding> parse_finding(std::string_view line);

std::string end_line(const WalkEnd& end);
std::optional<WalkEnd> parse_end(std::string_view line);

}  // namespace packhorse
