#pragma once

#include <filesystem>
#include <vector>

#include "packhorse/formats/dataset_card.h"
#include "packhorse/formats/export_index.h"
#include "packhorse/packing/copy.h"
#include "packhorse/packing/unpack.h"
#include "packhorse/reports/report_json.h"

namespace packhorse {

/// What `packhorse unpack --json` prints.
ReportJson to_json(const UnpackReport& report);

/// What `packhorse copy --json` prints.
ReportJson to_json(const CopyReport& report);

/// The indexes for other readers of one dataset, or of all splits in a directory.
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

}  // namespace packhorse
