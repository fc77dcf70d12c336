#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/sample_picks.h"
#include "inspect/tile.h"
#include "packhorse/analysis/summary.h"
#include "packhorse/verify/verify.h"

namespace packhorse::inspect {

/// One class with its pictures, in the order of its picks.
struct ReportClass {
  ClassPicks picks;
  std::vector<Tile> tiles;
};

/// What the report says of one dataset.
struct ReportSection {
  std::string path;
  std::string unreadable;  ///< why there is nothing but this; empty when there is
  const PackedDataset* dataset = nullptr;
  Summary summary;
  std::vector<ReportClass> classes;  ///< those that are shown
};

/// A page that needs nothing beside itself: no network, no scripts. `verification`: what was found,
/// when it was looked for.
std::string report_page(const std::string& title, const std::vector<ReportSection>& sections,
                        const VerifyReport* verification);

}  // namespace packhorse::inspect
