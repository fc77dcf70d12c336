#include "shared/check_page.h"

#include <fmt/format.h>

#include "base/option.h"
#include "common/terminal.h"
#include "drawing/html.h"
#include "packhorse/version.h"
#include "reports/reports.h"

namespace packhorse {

using drawing::escaped;
using program::count_text;
using program::with_commas;

namespace {

const char* colour_of(Severity severity) {
  return severity == Severity::kError ? " class=\"bad\"" : "";
}

std::string counts_part(const CheckReport& report) {
  std::string html = "<table>\n";
  const auto row = [&](const char* name, const std::string& value) {
    html += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", name, escaped(value));
  };
  row("read as", report.taken_for + (report.detected.empty() ? "" : " (" + report.detected + ")"));
  row("images", with_commas(report.samples) + ", " + program::bytes_text(report.bytes));
  for (const CheckReport::Split& split : report.splits)
    if (report.splits.size() > 1)
      row("split", split.split + ": " + count_text(split.samples, "image"));
  if (report.classes > 0) row("classes", with_commas(report.classes));
  if (report.objects > 0) row("objects", with_commas(report.objects));
  row("decoded", with_commas(report.decoded));
  if (report.known > 0) row("known findings", with_commas(report.known) + ", not shown");
  for (const std::string& note : report.notes) row("note", note);
  return html + "</table>\n";
}

/// All findings in a table, each with a link to its part.
std::string contents_part(const CheckReport& report) {
  if (report.findings.empty()) return "<p><strong class=\"good\">Nothing found.</strong></p>\n";
  std::string html = "<h2>Findings</h2>\n<table>\n";
  for (const CheckFinding& finding : report.findings) {
    const CheckRule& rule = *finding.rule;
    html += fmt::format("<tr><td><a href=\"#{0}\">{0}</a></td><td{1}>{2}</td><td>{3}</td></tr>\n",
                        rule.code, colour_of(rule.severity), name_of(rule.severity),
                        escaped(words_of(finding)));
  }
  return html + "</table>\n";
}

std::string example_figure(const CheckFinding::Example& example) {
  const std::string detail = example.detail.empty() ? "" : "<br>" + escaped(example.detail);
  return fmt::format(
      "<figure><div class=\"picture\"><img src=\"{}\" alt=\"\"></div><figcaption>{}{}</figcaption>"
      "</figure>\n",
      drawing::jpeg_uri(example.picture), escaped(example.path), detail);
}

std::string finding_part(const CheckFinding& finding) {
  const CheckRule& rule = *finding.rule;
  std::string tiles, items;
  for (const CheckFinding::Example& example : finding.examples) {
    const bool both = !example.path.empty() && !example.detail.empty();
    if (!example.picture.empty())
      tiles += example_figure(example);
    else
      items += "<li>" + escaped(example.path + (both ? ": " : "") + example.detail) + "</li>\n";
  }
  if (!tiles.empty()) tiles = "<div class=\"tiles\">\n" + tiles + "</div>\n";
  if (!items.empty()) items = "<ul>\n" + items + "</ul>\n";
  if (finding.count > finding.examples.size())
    items += "<p class=\"note\">and " + with_commas(finding.count - finding.examples.size()) +
             " more</p>\n";
  return fmt::format(
      "<h3 id=\"{0}\">{0} <span{1}>{2}</span>: {3}</h3>\n<p>{4} What to do: {5}.</p>\n{6}{7}",
      rule.code, colour_of(rule.severity), name_of(rule.severity), escaped(words_of(finding)),
      escaped(rule.why), escaped(spelled(rule.remedy)), tiles, items);
}

}  // namespace

std::string check_page(const std::string& source, const CheckReport& report) {
  std::string html = counts_part(report) + contents_part(report);
  for (const CheckFinding& finding : report.findings) html += finding_part(finding);
  return drawing::html_page("Check of " + source, "Made by packhorse " + version(), html);
}

}  // namespace packhorse
