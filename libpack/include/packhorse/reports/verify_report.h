#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/reports/report_json.h"
#include "packhorse/verify/against.h"
#include "packhorse/verify/repair.h"
#include "packhorse/verify/verify.h"

namespace packhorse {

/// The results of a check of one or more datasets. Views only.
struct VerifyOutcome {
  const VerifyReport& verified;
  const RepairReport* repaired = nullptr;   ///< null when nothing was repaired
  const AgainstReport* compared = nullptr;  ///< null when nothing was compared
  bool ok() const { return verified.ok() && (compared == nullptr || compared->findings.empty()); }
};

/// What `packhorse inspect --verify --json`, `inspect --against --json` and `repair --json` print.
ReportJson to_json(const VerifyOutcome& outcome);

/// What is wrong, and what to do next. The findings of the check decide; without findings, the
/// source differs.
std::string what_is_wrong(const VerifyReport& report);
std::string advice_for(const VerifyReport& report);

/// Verifies the datasets `paths`, which were found at `path`, one after the other. With splits,
/// findings and notes begin with the split. Throws as verify() does.
VerifyReport verify_all(const std::filesystem::path& path,
                        const std::vector<std::filesystem::path>& paths,
                        const VerifyOptions& options, Progress* progress, std::stop_token stop);

/// Compares as compare_with_source() does, but a dataset too damaged to compare is a finding.
AgainstReport compare_or_say_why_not(const std::vector<std::filesystem::path>& datasets,
                                     const std::filesystem::path& source,
                                     const PackOptions& options, Progress* progress,
                                     std::stop_token stop);

}  // namespace packhorse
