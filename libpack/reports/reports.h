#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/dataset_card.h"
#include "packhorse/analysis/object_stats.h"
#include "packhorse/analysis/summary.h"
#include "packhorse/checking/check.h"
#include "packhorse/formats/export_index.h"
#include "packhorse/packing/copy.h"
#include "packhorse/packing/pack.h"
#include "packhorse/packing/pack_status.h"
#include "packhorse/packing/unpack.h"
#include "packhorse/verify/against.h"
#include "packhorse/verify/repair.h"
#include "packhorse/verify/verify.h"
#include "reports/report_json.h"

namespace packhorse {

/// What `packhorse unpack --json` prints.
ReportJson to_json(const UnpackReport& report);

/// What `packhorse copy --json` prints.
ReportJson to_json(const CopyReport& report);

/// What came of the other readers' indexes of one dataset, or of all splits in a directory.
struct ExportReport {
  struct Dataset {
    std::filesystem::path path;  ///< where the files were written
    ExportedIndexReport files;
  };
  bool splits = false;  ///< `datasets` are the splits of a directory
  std::vector<Dataset> datasets;
  CardOutcome card = CardOutcome::kNone;
};

/// Does what `packhorse export-index` does: writes the indexes of the datasets at `path` into
/// `out`, a folder for each split, or beside the shards when it is empty, and then also the card.
/// Throws as export_indexes() and write_card() do.
ExportReport export_all_indexes(const std::filesystem::path& path, const std::filesystem::path& out,
                                const ExportedIndexOptions& options, int jobs = 0);

/// What `packhorse export-index --json` prints.
ReportJson to_json(const ExportReport& report);

/// "written", "unchanged", "kept" or "none".
std::string_view name_of(CardOutcome outcome);

/// What `packhorse pack --json` and `packhorse index --json` print.
ReportJson to_json(const PackReport& report);
ReportJson to_json(const DuplicateGroup& group);
/// What `packhorse pack --status --json` prints.
ReportJson to_json(const PackStatus& status);

/// What `packhorse check --json` prints.
ReportJson to_json(const CheckReport& report);
/// The same for code scanners, as SARIF 2.1.0: a result for each example.
ReportJson to_sarif(const CheckReport& report);
/// The same as commands of GitHub's workflows, "::warning file=...::...": a line for each example.
std::string github_text(const CheckReport& report);
/// "37 images are turned by their EXIF orientation".
std::string words_of(const CheckFinding& finding);

/// One JSON object a line: {"event": "reject" | "skip" | "duplicate", ...}. What --log writes.
std::string pack_log_text(const PackReport& report);

/// The class of a label; a label without one stays a number.
std::string class_of(const PackReport& report, std::int64_t label);

/// What the commands' JSON says about a dataset's objects.
ReportJson to_json(const ObjectStats& stats);

/// What `packhorse inspect --json` prints of one dataset.
ReportJson to_json(const PackedDataset& dataset, const Summary& summary,
                   const std::optional<ObjectStats>& objects);

/// The same for the datasets at `path`, from their indexes and, where they have objects, the fields
/// with the objects of kObjectsGlance images. Throws as opening them does.
ReportJson summary_report(const std::filesystem::path& path);

/// All that a check of one or more datasets has found. Views only.
struct VerifyOutcome {
  const VerifyReport& verified;
  const RepairReport* repaired = nullptr;   ///< null when nothing was repaired
  const AgainstReport* compared = nullptr;  ///< null when nothing was compared
  bool ok() const { return verified.ok() && (compared == nullptr || compared->findings.empty()); }
};

/// What `packhorse inspect --verify --json`, `inspect --against --json` and `repair --json` print.
ReportJson to_json(const VerifyOutcome& outcome);

/// What is wrong when not all is well, and what to do next. The findings of the check decide; if
/// there are none, it is the source that differs.
std::string what_is_wrong(const VerifyReport& report);
std::string advice_for(const VerifyReport& report);

/// Verifies the datasets `paths`, which were found at `path`, one after the other. With splits,
/// findings and notes begin with the split. Throws as verify() does.
VerifyReport verify_all(const std::filesystem::path& path,
                        const std::vector<std::filesystem::path>& paths,
                        const VerifyOptions& options, Progress* progress);

/// Compares as compare_with_source() does, but a dataset too damaged to compare is a finding.
AgainstReport compare_or_say_why_not(const std::vector<std::filesystem::path>& datasets,
                                     const std::filesystem::path& source,
                                     const PackOptions& options, Progress* progress);

}  // namespace packhorse
