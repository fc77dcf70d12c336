#include "inspect_text.h"

#include <fmt/format.h>

#include "common/terminal.h"

namespace packhorse {

using program::bytes_text;
using program::count_text;
using program::Json;

Json findings_json(const VerifyReport& report) {
  Json findings = Json::array();
  for (const Finding& f : report.findings) {
    findings.push_back({{"kind", f.kind},
                        {"shard", f.shard},
                        {"sample", f.sample < 0 ? Json(nullptr) : Json(f.sample)},
                        {"key", f.key},
                        {"offset", f.offset},
                        {"length", f.length},
                        {"detail", f.detail}});
  }
  return {
      {"ok", report.ok()},
      {"checked", {{"files", report.files}, {"samples", report.samples}, {"bytes", report.bytes}}},
      {"findings", findings}};
}

std::string findings_text(const VerifyReport& report) {
  std::string text;
  for (const Finding& f : report.findings) {
    text += fmt::format("damage: {}: {}", f.shard, f.kind);
    if (f.sample >= 0)
      text += fmt::format(", sample {}, key {}, bytes {} to {}", f.sample,
                          program::visible_text(f.key), f.offset, f.offset + f.length);
    text += fmt::format(": {}\n", f.detail);
  }
  const std::string checked =
      fmt::format("{}, {}, {} read", count_text(report.files, "file"),
                  count_text(report.samples, "sample"), bytes_text(report.bytes));
  return text + (report.ok() ? fmt::format("ok: {}\n", checked)
                             : fmt::format("{} in {}\n",
                                           count_text(report.findings.size(), "finding"), checked));
}

}  // namespace packhorse
