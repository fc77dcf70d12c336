#include "verify/walk_protocol.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace packhorse {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 5> kEnds = {"done", "crashed", "time", "memory", "failed"};

std::string to_hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string from_hex(const std::string& text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1]));
  return bytes;
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

template <class Read>
auto parsed(std::string_view line, const Read& read) -> std::optional<decltype(read(Json()))> {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    return read(json);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string task_line(const WalkTask& task, const WalkBounds& bounds) {
  const ImageLimits& limits = task.limits;
  const bool decode = task.kind == WalkTask::Kind::kDecode;
  Json json = {{"kind", decode ? "decode" : "structure"},
               {"format", task.format},
               {"data", to_hex(task.data.native())},
               {"index", to_hex(task.index.native())},
               {"adopted", to_hex(task.adopted.native())},
               {"first", task.first},
               {"rows", task.rows},
               {"cpu_s", bounds.cpu_s},
               {"memory", bounds.memory_bytes}};
  if (decode) json["limits"] = {limits.pixels, limits.scan_pixels, limits.decoded_bytes};
  return line_of(json);
}

std::optional<std::pair<WalkTask, WalkBounds>> parse_task(std::string_view line) {
  return parsed(line, [](const Json& json) {
    WalkTask task;
    task.kind = json.at("kind") == "decode" ? WalkTask::Kind::kDecode : WalkTask::Kind::kStructure;
    task.format = json.at("format");
    task.data = from_hex(json.at("data"));
    task.index = from_hex(json.at("index"));
    task.adopted = from_hex(json.at("adopted"));
    task.first = json.at("first");
    task.rows = json.at("rows");
    if (task.kind == WalkTask::Kind::kDecode) {
      const Json& limits = json.at("limits");
      task.limits = {limits.at(0), limits.at(1), limits.at(2)};
    }
    return std::pair(task, WalkBounds{json.at("cpu_s"), json.at("memory")});
  });
}

std::string finding_line(const WalkFinding& finding) {
  return line_of({{"finding",
                   {{"kind", finding.kind},
                    {"row", finding.row},
                    {"about_bytes", finding.about_bytes},
                    {"detail", finding.detail}}}});
}

std::optional<WalkFinding> parse_finding(std::string_view line) {
  return parsed(line, [](const Json& json) {
    const Json& finding = json.at("finding");
    return WalkFinding{finding.at("kind"), finding.at("row"), finding.at("about_bytes"),
                       finding.at("detail")};
  });
}

std::string end_line(const WalkEnd& end) {
  return line_of({{"end", kEnds.at(static_cast<std::size_t>(end.kind))},
                  {"signal", end.signal},
                  {"row", end.row},
                  {"detail", end.detail}});
}

std::optional<WalkEnd> parse_end(std::string_view line) {
  return parsed(line, [](const Json& json) {
    const std::string name = json.at("end");
    const auto at = std::find(kEnds.begin(), kEnds.end(), name);
    WalkEnd end;
    if (at != kEnds.end()) end.kind = static_cast<WalkEnd::Kind>(at - kEnds.begin());
    end.signal = json.at("signal");
    end.row = json.at("row");
    end.detail = json.at("detail");
    return end;
  });
}

}  // namespace packhorse
