#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include "packhorse/verify/verify.h"
#include "shared/request.h"
#include "verify/verify_text.h"

namespace packhorse {

/// Verifies the datasets one after the other, with a progress line. Findings and notes begin with
/// the split, where there are several.
VerifyReport verify_all(const Request& request, const std::vector<std::filesystem::path>& paths,
                        const VerifyOptions& options, const std::stop_token& stop);

/// Prints what came of it, and what to do next where not all is well; returns the exit code.
int print_outcome(const Request& request, const Outcome& outcome);

}  // namespace packhorse
