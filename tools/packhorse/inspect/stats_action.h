#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include "common/program.h"
#include "inspect/request.h"
#include "packhorse/analysis/dataset_stats.h"

namespace packhorse::inspect {

/// `--stats`: what a trainer normalises and weighs with.
class StatsAction {
 public:
  explicit StatsAction(const Request& request) : request_(request) {}
  /// Declares the options.
  void setup(CLI::App& app);
  bool wanted() const { return stats_; }
  int run(const std::vector<std::filesystem::path>& paths, const std::stop_token& stop) const;

 private:
  const Request& request_;
  StatsOptions options_;
  bool stats_ = false;
};

}  // namespace packhorse::inspect
