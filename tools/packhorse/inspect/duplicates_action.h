#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "common/program.h"
#include "inspect/request.h"
#include "packhorse/analysis/duplicates.h"

namespace packhorse::inspect {

/// `--duplicates [OTHER]`: images that are there more than once, in the datasets themselves, or in
/// them and in OTHER.
class DuplicatesAction {
 public:
  explicit DuplicatesAction(const Request& request) : request_(request) {}
  /// Declares the options.
  void setup(CLI::App& app);
  bool wanted() const { return duplicates_ != nullptr && duplicates_->count() > 0; }
  bool decodes() const { return wanted() && !search_.identical_only; }
  int run(const std::vector<std::filesystem::path>& paths, const std::stop_token& stop) const;

 private:
  const Request& request_;
  CLI::Option* duplicates_ = nullptr;
  std::string other_;
  DuplicateSearch search_;
};

}  // namespace packhorse::inspect
