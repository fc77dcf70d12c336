#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/reports.h"
#include "shared/request.h"

namespace packhorse {

/// A line for each file repaired, for each finding, then what was checked, then the notes.
std::string to_words(const VerifyOutcome& outcome);
/// The notes of to_words() alone: what a quiet run still says.
std::string notes_in_words(const VerifyOutcome& outcome);

/// Verifies the datasets one after the other, with a progress line. With several, findings and
/// notes begin with the split.
VerifyReport verify_with_progress(const Request& request,
                                  const std::vector<std::filesystem::path>& paths,
                                  const VerifyOptions& options);

/// Prints the outcome and, when not all is well, what to do next; returns the exit code.
int print_outcome(const Request& request, const VerifyOutcome& outcome);

// Puts the results of `packhorse inspect --verify` and `--against` and of `packhorse repair` into
// words.

}  // namespace packhorse
