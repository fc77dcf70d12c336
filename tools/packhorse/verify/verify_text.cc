#include <fmt/format.h>

#include "base/printable.h"
#include "common/terminal.h"
#include "verify/verify_all.h"

namespace packhorse {

using program::bytes_text;
using program::count_text;

namespace {

/// The word that begins a finding's line.
const char* head_of(const Finding& f) {
  if (!f.path.empty()) return "difference";
  if (f.kind == FindingKind::kLimit) return "not decoded";
  return f.kind == FindingKind::kRead ? "not read" : "damage";
}

std::string finding_text(const Finding& f) {
  const std::string shard = printable(f.shard), path = printable_text(f.path);
  std::string text =
      fmt::format("{}: {}: {}", head_of(f), path.empty() ? shard : path, name_of(f.kind));
  if (!path.empty() && !shard.empty()) text += ", " + shard;
  if (f.sample >= 0) text += fmt::format(", sample {}, key {}", f.sample, printable(f.key));
  if (f.length > 0) text += fmt::format(", bytes {} to {}", f.offset, f.offset + f.length);
  return fmt::format("{}: {}\n", text, printable_text(f.detail));
}

std::string verdict(const std::vector<Finding>& findings, const std::string& checked) {
  return findings.empty()
             ? fmt::format("ok: {}\n", checked)
             : fmt::format("{} in {}\n", count_text(findings.size(), "finding"), checked);
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("note: {}\n", printable_text(note));
  return text;
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) text += finding_text(f);
  return text;
}

std::string verified_text(const VerifyReport& report) {
  std::string checked = fmt::format("{}, {}, {} read", count_text(report.files, "file"),
                                    count_text(report.samples, "sample"), bytes_text(report.bytes));
  if (report.decoded > 0)
    checked += fmt::format(", {} decoded", count_text(report.decoded, "image"));
  return findings_text(report.findings) + verdict(report.findings, checked) +
         notes_text(report.notes);
}

std::string compared_text(const AgainstReport& report) {
  std::string checked = fmt::format("{} of the source, {} read",
                                    count_text(report.compared, "input"), bytes_text(report.bytes));
  if (report.rejected > 0)
    checked += fmt::format(", {} rejected as before", count_text(report.rejected, "input"));
  return findings_text(report.findings) + verdict(report.findings, checked) +
         notes_text(report.notes);
}

std::string repaired_text(const RepairReport& report) {
  std::string text;
  for (const std::string& file : report.copied)
    text += fmt::format("repaired: {}: copied\n", printable(file));
  for (const std::string& file : report.rebuilt)
    text += fmt::format("repaired: {}: made again\n", printable(file));
  return text.empty() ? "nothing to repair\n" : text;
}

}  // namespace

std::string to_words(const VerifyOutcome& outcome) {
  std::string text = outcome.repaired ? repaired_text(*outcome.repaired) : "";
  text += verified_text(outcome.verified);
  if (outcome.compared) text += compared_text(*outcome.compared);
  return text;
}

std::string notes_in_words(const VerifyOutcome& outcome) {
  std::string text = notes_text(outcome.verified.notes);
  if (outcome.compared) text += notes_text(outcome.compared->notes);
  return text;
}

}  // namespace packhorse
