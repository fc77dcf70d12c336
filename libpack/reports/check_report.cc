#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/option.h"
#include "base/printable.h"
#include "packhorse/version.h"
#include "reports/reports.h"

namespace packhorse {

namespace {

/// As workflow commands want values; those of properties have no commas and colons either.
std::string escaped(std::string_view text, bool property) {
  std::string made;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ',' || c == ':'));
    made += special ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return made;
}

/// What SARIF and GitHub call a severity.
const char* level_of(Severity severity, const char* note) {
  return severity == Severity::kError ? "error" : severity == Severity::kWarning ? "warning" : note;
}

std::string words_of(const CheckFinding& finding, const CheckFinding::Example& example) {
  const std::string text = std::string(finding.rule->one);
  return example.detail.empty() ? text : text + ": " + example.detail;
}

}  // namespace

std::string words_of(const CheckFinding& finding) {
  std::string count = std::to_string(finding.count);
  for (std::size_t at = count.size(); at > 3; at -= 3) count.insert(at - 3, ",");
  return count + " " + std::string(finding.count == 1 ? finding.rule->one : finding.rule->several);
}

ReportJson to_json(const CheckReport& report) {
  ReportJson splits = ReportJson::array(), findings = ReportJson::array();
  for (const CheckReport::Split& split : report.splits)
    splits.push_back({{"split", split.split}, {"samples", split.samples}});
  for (const CheckFinding& finding : report.findings) {
    ReportJson examples = ReportJson::array();
    for (const CheckFinding::Example& example : finding.examples)
      examples.push_back({{"path", example.path}, {"detail", example.detail}});
    findings.push_back({{"code", finding.rule->code},
                        {"severity", name_of(finding.rule->severity)},
                        {"family", family_of(finding.rule->code)},
                        {"count", finding.count},
                        {"message", words_of(finding)},
                        {"why", finding.rule->why},
                        {"remedy", spelled(finding.rule->remedy)},
                        {"examples", examples}});
  }
  return {{"taken_for", report.taken_for},
          {"detected", report.detected},
          {"splits", splits},
          {"samples", report.samples},
          {"classes", report.classes},
          {"objects", report.objects},
          {"object_classes", report.object_classes},
          {"bytes", report.bytes},
          {"looked_at", report.looked_at},
          {"decoded", report.decoded},
          {"known", report.known},
          {"stopped", report.stopped},
          {"seconds", report.seconds},
          {"errors", report.count(Severity::kError)},
          {"warnings", report.count(Severity::kWarning)},
          {"notes", report.notes},
          {"findings", findings}};
}

ReportJson to_sarif(const CheckReport& report) {
  ReportJson rules = ReportJson::array(), results = ReportJson::array();
  for (const CheckFinding& finding : report.findings) {
    const CheckRule& rule = *finding.rule;
    const char* const level = level_of(rule.severity, "note");
    rules.push_back({{"id", rule.code},
                     {"shortDescription", {{"text", rule.several}}},
                     {"fullDescription", {{"text", rule.why}}},
                     {"help", {{"text", spelled(rule.remedy)}}},
                     {"defaultConfiguration", {{"level", level}}}});
    for (const CheckFinding::Example& example : finding.examples) {
      ReportJson result = {{"ruleId", rule.code},
                           {"level", level},
                           {"message", {{"text", words_of(finding, example)}}}};
      if (!example.path.empty())
        result["locations"] = ReportJson::array(
            {{{"physicalLocation", {{"artifactLocation", {{"uri", example.path}}}}}}});
      results.push_back(result);
    }
  }
  const ReportJson driver = {{"name", "packhorse"}, {"version", version()}, {"rules", rules}};
  const ReportJson run = {{"tool", {{"driver", driver}}}, {"results", results}};
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", ReportJson::array({run})}};
}

std::string github_text(const CheckReport& report) {
  std::string text;
  for (const CheckFinding& finding : report.findings) {
    for (const CheckFinding::Example& example : finding.examples) {
      const std::string file =
          example.path.empty() ? "" : "file=" + escaped(example.path, true) + ",";
      text += fmt::format("::{} {}title={}::{}\n", level_of(finding.rule->severity, "notice"), file,
                          finding.rule->code, escaped(words_of(finding, example), false));
    }
  }
  return text;
}

}  // namespace packhorse
