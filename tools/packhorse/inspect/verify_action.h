#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/program.h"
#include "inspect/request.h"
#include "pack/source_arguments.h"
#include "packhorse/packing/pack.h"
#include "packhorse/verify/against.h"
#include "packhorse/verify/repair.h"
#include "packhorse/verify/verify.h"

namespace packhorse::inspect {

/// `--verify`, `--against` and `--repair`: proves what a dataset holds, and mends it.
class VerifyAction {
 public:
  explicit VerifyAction(const Request& request) : request_(request) {}
  /// After the options of `app` that exclude these.
  void setup(CLI::App& app);
  bool wanted() const { return !level_.empty() || !source_.empty() || !repair_from_.empty(); }
  /// Throws Error(kUsage) for options that nothing asked for has a use for.
  void check() const;
  bool decodes() const { return decode_ || !source_.empty() || !repair_from_.empty(); }
  /// Prints what was found, and returns the exit code.
  int run(const std::vector<std::filesystem::path>& paths, const std::stop_token& stop);
  /// After run(): what was verified, with the findings of the comparison as well.
  const VerifyReport& report() const { return report_; }

 private:
  VerifyOptions read_options();
  RepairReport repair_all(const std::vector<std::filesystem::path>& paths,
                          const std::stop_token& stop) const;
  VerifyReport verify_all(const std::vector<std::filesystem::path>& paths,
                          const VerifyOptions& options, const std::stop_token& stop) const;
  AgainstReport compare(const std::vector<std::filesystem::path>& paths,
                        const std::stop_token& stop) const;

  const Request& request_;
  std::string level_, part_, source_, repair_from_;
  bool decode_ = false;
  PackOptions packed_;  ///< what the manifest does not record of them
  SourceArguments source_arguments_{packed_};
  VerifyReport report_;
};

}  // namespace packhorse::inspect
