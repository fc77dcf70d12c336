#include "reports/report_json.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/printable.h"

namespace packhorse {

namespace {

constexpr int kIndent = 2, kOneLine = -1;

void hide_secrets(ReportJson& json) {
  if (json.is_string()) json = without_secrets(json.get_ref<const std::string&>());
  if (json.is_structured())
    for (ReportJson& inner : json) hide_secrets(inner);
}

std::string text_of(const ReportJson& json, int indent) {
  return printable_json(utf8_json(json, indent)) + "\n";
}

}  // namespace

std::string json_text(ReportJson json) {
  hide_secrets(json);
  return text_of(json, kIndent);
}

std::string json_line(ReportJson json) {
  hide_secrets(json);
  return text_of(json, kOneLine);
}

std::string exact_json_text(const ReportJson& json) { return text_of(json, kIndent); }

ReportJson one_report(const std::filesystem::path& path,
                      const std::vector<std::filesystem::path>& paths,
                      const std::vector<ReportJson>& reports) {
  return paths.front() == path ? reports.front() : ReportJson{{"datasets", reports}};
}

}  // namespace packhorse
