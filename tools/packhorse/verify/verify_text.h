#pragma once

#include <string>

#include "packhorse/reports/verify_report.h"

/// Puts the results of `packhorse inspect --verify` and `--against` and of `packhorse repair` into
/// words.
namespace packhorse {

/// A line for each file repaired, for each finding, then what was checked, then the notes.
std::string to_words(const VerifyOutcome& outcome);
/// The notes of to_words() alone: what a quiet run still says.
std::string notes_in_words(const VerifyOutcome& outcome);

}  // namespace packhorse
