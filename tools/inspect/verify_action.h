#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "common/program.h"
#include "packhorse/verify.h"

namespace packhorse::inspect {

/// `inspect --verify`: its options, and what they do.
class VerifyAction {
 public:
  /// `dataset` as the command line names it; `json`: print one JSON object. Both outlive this.
  VerifyAction(const std::string& dataset, const bool& json) : dataset_(dataset), json_(json) {}

  /// Declares the options. After those of `app` that exclude them.
  void setup(CLI::App& app);
  bool wanted() const { return !level_.empty(); }
  /// Verifies the datasets, prints what was found, and returns the exit code.
  int run(const std::vector<std::filesystem::path>& paths, const std::stop_token& stop) const;

 private:
  VerifyOptions read_options() const;
  VerifyReport verify_all(const std::vector<std::filesystem::path>& paths,
                          const std::stop_token& stop) const;

  const std::string& dataset_;
  const bool& json_;
  std::string level_, part_;
  int jobs_ = 0;
  bool decode_ = false;
};

}  // namespace packhorse::inspect
