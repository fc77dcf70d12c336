#include "walkers/walk_protocol.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/json.h"
#include "packhorse/walkers/finding_kind.h"

namespace packhorse {

namespace {

using Json = OrderedExactJson;

constexpr std::array<const char*, 3> kKinds = {"structure", "decode", "describe"};
constexpr std::array<const char*, 5> kEnds = {"done", "crashed", "time", "memory", "failed"};

std::string line_of(const Json& json) { return utf8_json(json) + "\n"; }

template <class Read>
auto parsed(std::string_view line, const Read& read) -> std::optional<decltype(read(Json()))> {
  try {
    return read(parse_json<Json>(line));
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const Error&) {  // not even JSON
    return std::nullopt;
  }
}

/// Writes the names of arrays and fields. Fields not chosen are null, which differs from choosing
/// none.
Json foreign_json(const ForeignOptions& options) {
  const ArrayNames& arrays = options.arrays;
  Json fields;
  if (options.fields.names) {
    fields = Json::array();
    for (const std::string& name : *options.fields.names) fields.push_back(to_hex(name));
  }
  return Json::array({to_hex(arrays.images), to_hex(arrays.offsets), to_hex(arrays.labels),
                      to_hex(arrays.keys), std::move(fields)});
}

ForeignOptions foreign_of(const Json& json) {
  const auto text = [](const Json& one) { return from_hex(one.get<std::string>()); };
  ForeignOptions options;
  options.arrays = {text(json.at(0)), text(json.at(1)), text(json.at(2)), text(json.at(3))};
  if (json.at(4).is_null()) return options;
  options.fields.names.emplace();
  for (const Json& name : json.at(4)) options.fields.names->push_back(text(name));
  return options;
}

}  // namespace

std::string words_of(const WalkEnd& end, const std::string& who, const std::string& done) {
  switch (end.kind) {
    case WalkEnd::Kind::kCrashed:
      return who + " crashed on it (" + ::strsignal(end.signal) + ")";
    case WalkEnd::Kind::kTime:
      return who + " did not finish it in time";
    case WalkEnd::Kind::kMemory:
      return who + " needed too much memory for it";
    default:
      return "it could not be " + done + ": " + end.detail;
  }
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1]));
  return bytes;
}

std::string task_line(const WalkTask& task, const WalkBounds& bounds) {
  Json json = {{"kind", kKinds.at(static_cast<std::size_t>(task.kind))},
               {"format", task.format},
               {"data", to_hex(task.data.native())},
               {"index", to_hex(task.index.native())},
               {"adopted", to_hex(task.adopted.native())},
               {"first", task.first},
               {"rows", task.rows},
               {"cpu_s", bounds.cpu_s},
               {"memory", bounds.memory_bytes}};
  if (task.kind == WalkTask::Kind::kDecode) {
    const ImageLimits& limits = task.limits;
    json["limits"] = {limits.pixels, limits.scan_pixels, limits.decoded_bytes};
  }
  if (task.kind == WalkTask::Kind::kDescribe) json["foreign"] = foreign_json(task.foreign);
  return line_of(json);
}

std::optional<std::pair<WalkTask, WalkBounds>> parse_task(std::string_view line) {
  return parsed(line, [](const Json& json) {
    WalkTask task;
    const auto kind = std::ranges::find(kKinds, json.at("kind").get<std::string>());
    if (kind == kKinds.end()) throw Error(ErrorKind::kCorrupt, "no such task");
    task.kind = static_cast<WalkTask::Kind>(kind - kKinds.begin());
    task.format = json.at("format");
    task.data = from_hex(json.at("data").get<std::string>());
    task.index = from_hex(json.at("index").get<std::string>());
    task.adopted = from_hex(json.at("adopted").get<std::string>());
    task.first = json.at("first");
    task.rows = json.at("rows");
    if (task.kind == WalkTask::Kind::kDecode) {
      const Json& limits = json.at("limits");
      task.limits = {limits.at(0), limits.at(1), limits.at(2)};
    }
    if (task.kind == WalkTask::Kind::kDescribe) task.foreign = foreign_of(json.at("foreign"));
    return std::pair(task, WalkBounds{json.at("cpu_s"), json.at("memory")});
  });
}

std::string finding_line(const WalkFinding& finding) {
  return line_of({{"finding",
                   {{"kind", name_of(finding.kind)},
                    {"row", finding.row},
                    {"about_bytes", finding.about_bytes},
                    {"detail", finding.detail}}}});
}

std::optional<WalkFinding> parse_finding(std::string_view line) {
  return parsed(line, [](const Json& json) {
    const Json& finding = json.at("finding");
    const auto kind = parse_finding_kind(finding.at("kind").get<std::string>());
    if (!kind) throw Error(ErrorKind::kCorrupt, "no such finding");
    return WalkFinding{*kind, finding.at("row"), finding.at("about_bytes"), finding.at("detail")};
  });
}

std::string end_line(const WalkEnd& end) {
  return line_of({{"end", kEnds.at(static_cast<std::size_t>(end.kind))},
                  {"signal", end.signal},
                  {"row", end.row},
                  {"detail", end.detail}});
}

std::optional<WalkEnd> parse_end(std::string_view line) {
  if (!line.starts_with("{\"end\"")) return std::nullopt;  // most lines are not ends
  return parsed(line, [](const Json& json) {
    const std::string name = json.at("end");
    const auto at = std::ranges::find(kEnds, name);
    WalkEnd end;
    if (at != kEnds.end()) end.kind = static_cast<WalkEnd::Kind>(at - kEnds.begin());
    end.signal = json.at("signal");
    end.row = json.at("row");
    end.detail = json.at("detail");
    return end;
  });
}

namespace {

constexpr std::array<std::string_view, 14> kNames = {
    "changed",  "decode",  "description", "extra", "hash",       "index", "limit",
    "manifest", "missing", "payload",     "read",  "relabelled", "size",  "structure"};

}  // namespace

std::string_view name_of(FindingKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<FindingKind> parse_finding_kind(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<FindingKind>(found - kNames.begin());
}

}  // namespace packhorse
