#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/option.h"
#include "packhorse/base/error.h"
#include "reports/reports.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

ReportJson finding_json(const Finding& f) {
  ReportJson json = {{"kind", name_of(f.kind)},
                     {"shard", f.shard},
                     {"sample", f.sample < 0 ? ReportJson(nullptr) : ReportJson(f.sample)},
                     {"key", f.key},
                     {"offset", f.offset},
                     {"length", f.length},
                     {"detail", f.detail}};
  if (!f.path.empty()) json["path"] = f.path;
  return json;
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
            "replace the files named above with `repair(DATASET, SOURCE)`, or pack the "
            "source again"},
    Trouble{[](const Finding& f) { return is_damage(f) && f.writer == Writer::kOthers; },
            "the dataset is damaged", "for shards from other writers",
            "get fresh copies of the shards named above from where they came from, since packhorse "
            "never writes to those; or, if they were changed on purpose, adopt them again with "
            "`index(overwrite=true)`"},
    Trouble{
        [](const Finding& f) { return is_damage(f) && f.writer == Writer::kIndex; },
        "the dataset is damaged", "for files beside shards from other writers",
        "take the files named above from a copy of the dataset with `repair(DATASET, COPY)`, or "
        "remove them and adopt the shards again with `index(overwrite=true)`"},
    Trouble{[](const Finding& f) { return f.kind == FindingKind::kDescription; },
            "the dataset describes images wrongly", "for wrongly described images",
            "pack the source again, or adopt foreign shards again with `index(overwrite=true)`: "
            "the index is as it was published, so a repair cannot change it"},
    Trouble{[](const Finding& f) { return f.kind == FindingKind::kRead; },
            "not all of the dataset can be read", "for what cannot be read",
            "check the storage, whose errors are in the kernel's log, and verify again"},
    Trouble{is_about_image, "images of the dataset cannot be decoded",
            "for images that cannot be decoded",
            "their bytes are as they were packed, so a repair cannot change them: fix or remove "
            "the source images, or pack again with `pack(decode=true)`, which rejects them"},
    Trouble{[](const Finding& f) { return f.kind == FindingKind::kLimit; },
            "images of the dataset exceed the limits", "for images that exceed a limit",
            "raise the limit named above; the images are as they were packed, and may be intact"},
};

bool is_among(const VerifyReport& report, const Trouble& trouble) {
  return std::ranges::any_of(report.findings, trouble.is_it);
}

}  // namespace

ReportJson to_json(const VerifyOutcome& outcome) {
  const VerifyReport& report = outcome.verified;
  ReportJson findings = ReportJson::array(), notes = report.notes;
  for (const Finding& f : report.findings) findings.push_back(finding_json(f));
  ReportJson json = {{"ok", outcome.ok()},
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
                      : spelled(text);
}

VerifyReport verify_all(const fs::path& path, const std::vector<fs::path>& paths,
                        const VerifyOptions& options, Progress* progress) {
  VerifyReport all;
  for (const fs::path& one : paths) {
    VerifyReport report = verify(one, options, progress);
    const bool split = one != path;
    for (Finding& finding : report.findings) {
      if (split) finding.shard = (one.filename() / finding.shard).string();
      all.findings.push_back(std::move(finding));
    }
    for (const std::string& note : report.notes)
      all.notes.push_back(split ? one.filename().string() + ": " + note : note);
    all.files += report.files;
    all.samples += report.samples;
    all.bytes += report.bytes;
    all.walked += report.walked;
    all.decoded += report.decoded;
    all.isolated = report.isolated;
  }
  return all;
}

AgainstReport compare_or_say_why_not(const std::vector<fs::path>& datasets, const fs::path& source,
                                     const PackOptions& options, Progress* progress) try {
  return compare_with_source(datasets, source, options, progress);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kCorrupt) throw;
  const std::string why = spelled(error.what());
  AgainstReport report;
  report.notes.push_back("not compared with the source, because the dataset is damaged: " + why);
  report.findings.push_back({FindingKind::kIndex,
                             error.path().filename().string(),
                             -1,
                             {},
                             0,
                             0,
                             "the dataset cannot be opened: " + why});
  return report;
}

}  // namespace packhorse
