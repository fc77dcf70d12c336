#include "inspect/verify_text.h"

#include <fmt/format.h>

#include "common/terminal.h"

namespace packhorse::inspect {

using program::count_text;
using program::Json;

namespace {

Json finding_json(const Finding& f) {
  Json json = {{"kind", f.kind},
               {"shard", f.shard},
               {"sample", f.sample < 0 ? Json(nullptr) : Json(f.sample)},
               {"key", f.key},
               {"offset", f.offset},
               {"length", f.length},
               {"detail", f.detail}};
  if (!f.path.empty()) json["path"] = f.path;
  return json;
}

std::string finding_text(const Finding& f) {
  std::string text = fmt::format("damage: {}: {}", f.shard, f.kind);
  if (f.sample >= 0) text += fmt::format(", sample {}, key {}", f.sample, f.key);
  if (f.length > 0) text += fmt::format(", bytes {} to {}", f.offset, f.offset + f.length);
  return fmt::format("{}: {}\n", text, f.detail);
}

}  // namespace

Json findings_json(const VerifyReport& report) {
  Json findings = Json::array();
  for (const Finding& f : report.findings) findings.push_back(finding_json(f));
  return {{"ok", report.ok()},
          {"checked",
           {{"files", report.files},
            {"samples", report.samples},
            {"bytes", report.bytes},
            {"walked", report.walked},
            {"decoded", report.decoded}}},
          {"isolated", report.isolated},
          {"notes", report.notes},
          {"findings", findings}};
}

std::string findings_text(const VerifyReport& report) {
  std::string text;
  for (const Finding& f : report.findings) text += finding_text(f);
  std::string checked =
      fmt::format("{}, {}, {} read", count_text(report.files, "file"),
                  count_text(report.samples, "sample"), program::bytes_text(report.bytes));
  if (report.decoded > 0)
    checked += fmt::format(", {} decoded", count_text(report.decoded, "image"));
  text += report.ok()
              ? fmt::format("ok: {}\n", checked)
              : fmt::format("{} in {}\n", count_text(report.findings.size(), "finding"), checked);
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  return text;
}

}  // namespace packhorse::inspect
