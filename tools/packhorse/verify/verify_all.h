#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include "shared/request.h"
#include "verify/verify_text.h"

namespace packhorse {

/// Verifies the datasets one after the other, with a progress line. With several, findings and
/// notes begin with the split.
VerifyReport verify_with_progress(const Request& request,
                                  const std::vector<std::filesystem::path>& paths,
                                  const VerifyOptions& options, const std::stop_token& stop);

/// Prints the outcome and, when not all is well, what to do next; returns the exit code.
int print_outcome(const Request& request, const VerifyOutcome& outcome);

}  // namespace packhorse
