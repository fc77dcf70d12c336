#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/options.h"
#include "common/program.h"
#include "packhorse/packing/pack.h"
#include "packhorse/verify/against.h"
#include "packhorse/verify/verify.h"
#include "shared/request.h"

namespace packhorse::inspect {

/// `--verify` and `--against`: checks what a dataset holds.
class VerifyAction {
 public:
  explicit VerifyAction(const Request& request) : request_(request) {}
  /// Declares the options. Call it after those of `app` that exclude them.
  void setup(CLI::App& app);
  bool wanted() const { return !level_.empty() || !source_.empty(); }
  /// Throws Error(kUsage) for options that no requested check uses.
  void check() const;
  /// What is read besides the dataset.
  std::vector<std::string> sources() const {
    return source_.empty() ? std::vector<std::string>() : std::vector<std::string>{source_};
  }
  bool decodes() const { return decode_ || !source_.empty(); }
  /// Prints what was found, and returns the exit code.
  int run(const std::vector<std::filesystem::path>& paths);
  /// What was verified, with the findings of the comparison. Call it after run().
  const VerifyReport& report() const { return report_; }

 private:
  VerifyOptions read_options();
  AgainstReport compare(const std::vector<std::filesystem::path>& paths) const;

  const Request& request_;
  std::string level_, part_, source_;
  bool decode_ = false;
  PackOptions packed_;  ///< options that the manifest does not record
  program::TableOptions table_;
  VerifyReport report_;
};

}  // namespace packhorse::inspect
