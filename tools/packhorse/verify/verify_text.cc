#include "verify/verify_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/terminal.h"
#include "packhorse/base/printable.h"

namespace packhorse {

using program::bytes_text;
using program::count_text;
using program::Json;

namespace {

Json finding_json(const Finding& f) {
  Json json = {{"kind", name_of(f.kind)},
               {"shard", f.shard},
               {"sample", f.sample < 0 ? Json(nullptr) : Json(f.sample)},
               {"key", f.key},
               {"offset", f.offset},
               {"length", f.length},
               {"detail", f.detail}};
  if (!f.path.empty()) json["path"] = f.path;
  return json;
}

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

/// A kind of findings that are all repaired in the same way.
struct Trouble {
  bool (*is_it)(const Finding&);
  const char* wrong;  ///< what is wrong, if nothing graver is found
  const char* which;  ///< names these findings when there are others, too
  const char* next;
};

using Writer = Finding::Writer;

bool is_about_image(const Finding& f) { return f.sample >= 0 && f.kind == FindingKind::kDecode; }

bool is_damage(const Finding& f) {
  return !is_about_image(f) && f.kind != FindingKind::kDescription &&
         f.kind != FindingKind::kRead && f.kind != FindingKind::kLimit;
}

/// Sorted from the gravest on.
constexpr std::array kTroubles = {
    Trouble{[](const Finding& f) { return is_damage(f) && f.writer == Writer::kPack; },
            "the dataset is damaged", "for files that `pack` wrote",
            "replace the files named above with `packhorse repair DATASET SOURCE`, or pack the "
            "source again"},
    Trouble{[](const Finding& f) { return is_damage(f) && f.writer == Writer::kOthers; },
            "the dataset is damaged", "for shards from other writers",
            "get fresh copies of the shards named above from where they came from, since packhorse "
            "never writes to those; or, if they were changed on purpose, adopt them again with "
            "`packhorse index --overwrite`"},
    Trouble{[](const Finding& f) { return is_damage(f) && f.writer == Writer::kIndex; },
            "the dataset is damaged", "for files beside shards from other writers",
            "take the files named above from a copy of the dataset with `packhorse repair DATASET "
            "COPY`, "
            "or remove them and adopt the shards again with `packhorse index --overwrite`"},
    Trouble{[](const Finding& f) { return f.kind == FindingKind::kDescription; },
            "the dataset describes images wrongly", "for wrongly described images",
            "pack the source again, or adopt foreign shards again with `packhorse index "
            "--overwrite`: the index is as it was published, so a repair cannot change it"},
    Trouble{[](const Finding& f) { return f.kind == FindingKind::kRead; },
            "not all of the dataset can be read", "for what cannot be read",
            "check the storage, whose errors are in the kernel's log, and verify again"},
    Trouble{is_about_image, "images of the dataset cannot be decoded",
            "for images that cannot be decoded",
            "their bytes are as they were packed, so a repair cannot change them: fix or remove "
            "the source images, or pack again with `pack --decode`, which rejects them"},
    Trouble{[](const Finding& f) { return f.kind == FindingKind::kLimit; },
            "images of the dataset exceed the limits", "for images that exceed a limit",
            "raise the limit named above; the images are as they were packed, and may be intact"},
};

bool is_among(const VerifyReport& report, const Trouble& trouble) {
  return std::any_of(report.findings.begin(), report.findings.end(), trouble.is_it);
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
  for (const Trouble& trouble : kTroubles)
    if (is_among(report, trouble)) return trouble.wrong;
  return "the dataset does not match the source";
}

std::string advice_for(const VerifyReport& report) {
  std::string text;
  for (const Trouble& trouble : kTroubles) {
    if (!is_among(report, trouble)) continue;
    text += text.empty() ? trouble.next : fmt::format("; {}, {}", trouble.which, trouble.next);
  }
  return text.empty() ? "find out which of the two is right; to follow the source, pack it again"
                      : text;
}

std::string to_words(const Outcome& outcome) {
  std::string text = outcome.repaired ? repaired_text(*outcome.repaired) : "";
  text += verified_text(outcome.verified);
  if (outcome.compared) text += compared_text(*outcome.compared);
  return text;
}

std::string notes_in_words(const Outcome& outcome) {
  std::string text = notes_text(outcome.verified.notes);
  if (outcome.compared) text += notes_text(outcome.compared->notes);
  return text;
}

}  // namespace packhorse
