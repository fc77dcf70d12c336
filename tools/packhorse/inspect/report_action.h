#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "inspect/report_page.h"
#include "shared/request.h"

namespace packhorse::inspect {

/// `--report FILE`: an HTML page about the datasets.
class ReportAction {
 public:
  explicit ReportAction(const Request& request) : request_(request) {}
  void setup(CLI::App& app);
  bool wanted() const { return !file_.empty(); }
  /// With a `verification`, the page shows its findings, a dataset that cannot be opened is noted
  /// there rather than an error, and --json output is left to the caller that verified. Returns
  /// kDamage when an image could not be shown.
  int run(const std::vector<std::filesystem::path>& paths,
          const VerifyReport* verification = nullptr) const;

 private:
  ReportSection section(const PackedDataset& dataset) const;

  const Request& request_;
  std::string file_;
  std::size_t classes_ = 20, images_ = 6;
};

}  // namespace packhorse::inspect
