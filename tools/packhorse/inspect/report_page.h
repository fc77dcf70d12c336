#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/sample_picks.h"
#include "inspect/tile.h"
#include "packhorse/analysis/object_stats.h"
#include "packhorse/analysis/summary.h"
#include "packhorse/verify/verify.h"

namespace packhorse::inspect {

/// One class with its pictures, in the order of its picks.
struct ReportClass {
  ClassPicks picks;
  std::vector<Tile> tiles;
};

/// What the report says about one dataset.
struct ReportSection {
  std::string path;
  std::string unreadable;  ///< why there is nothing else; empty when there is
  const PackedDataset* dataset = nullptr;
  Summary summary;
  std::optional<ObjectStats> objects;  ///< none when the dataset has none
  std::vector<ReportClass> classes;    ///< the classes shown
};

/// Makes a page that needs nothing else: no network, no scripts. `verification`: the findings to
/// show, or null when the datasets were not verified.
std::string report_page(const std::string& title, const std::vector<ReportSection>& sections,
                        const VerifyReport* verification);

}  // namespace packhorse::inspect
