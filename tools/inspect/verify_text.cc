#include "inspect/verify_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/terminal.h"
#include "packhorse/printable.h"

namespace packhorse::inspect {

using program::bytes_text;
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
  const std::string shard = printable(f.shard);
  std::string text = f.path.empty() ? fmt::format("damage: {}: {}", shard, f.kind)
                                    : fmt::format("difference: {}: {}", f.path, f.kind);
  if (!f.path.empty() && !shard.empty()) text += ", " + shard;
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

/// The bytes of such an image are what the dataset says: it was packed as it is.
bool is_about_decoding(const Finding& finding) { return finding.kind == "decode"; }

bool has_other_bytes(const VerifyReport& report) {
  return !std::all_of(report.findings.begin(), report.findings.end(), is_about_decoding);
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

Json to_json(const Outcome& outcome) {
  const VerifyReport& report = outcome.verified;
  Json findings = Json::array(), notes = report.notes;
  for (const Finding& f : report.findings) findings.push_back(finding_json(f));
  Json json = {{"ok", outcome.ok()},
               {"checked",
                {{"files", report.files},
                 {"samples", report.samples},
                 {"bytes", report.bytes},
                 {"walked", report.walked},
                 {"decoded", report.decoded}}},
               {"isolated", report.isolated}};
  if (outcome.compared) {
    const AgainstReport& compared = *outcome.compared;
    json["against"] = {{"compared", compared.compared},
                       {"bytes", compared.bytes},
                       {"rejected", compared.rejected}};
    for (const Finding& f : compared.findings) findings.push_back(finding_json(f));
    for (const std::string& note : compared.notes) notes.push_back(note);
  }
  if (outcome.repaired) {
    json["repaired"] = {{"copied", outcome.repaired->copied},
                        {"rebuilt", outcome.repaired->rebuilt}};
  }
  json["notes"] = notes;
  json["findings"] = findings;
  return json;
}

std::string what_is_wrong(const VerifyReport& report) {
  if (report.ok()) return "the dataset is not what the source is";
  return has_other_bytes(report) ? "the dataset is damaged"
                                 : "images of the dataset cannot be decoded";
}

std::string advice_for(const VerifyReport& report) {
  if (report.ok()) return "pack the source again, or find out which of the two is right";
  const std::string repair =
      "replace the files named above with `packhorse inspect --repair SOURCE`, or pack the source "
      "again";
  const std::string decode =
      "their bytes are those that were packed, so that no repair makes them others: mend or remove "
      "the source images, or pack again with `pack --decode`, which rejects them";
  if (!has_other_bytes(report)) return decode;
  const bool both = std::any_of(report.findings.begin(), report.findings.end(), is_about_decoding);
  return both ? repair + "; of what cannot be decoded, " + decode : repair;
}

std::string to_words(const Outcome& outcome) {
  std::string text = outcome.repaired ? repaired_text(*outcome.repaired) : "";
  text += verified_text(outcome.verified);
  if (outcome.compared) text += compared_text(*outcome.compared);
  return text;
}

}  // namespace packhorse::inspect
