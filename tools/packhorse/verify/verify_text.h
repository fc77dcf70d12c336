#pragma once

#include <string>

#include "common/program.h"
#include "packhorse/verify/against.h"
#include "packhorse/verify/repair.h"
#include "packhorse/verify/verify.h"

/// Puts the results of `packhorse inspect --verify` and `--against` and of `packhorse repair` into
/// words.
namespace packhorse {

struct Outcome {
  const VerifyReport& verified;
  const RepairReport* repaired = nullptr;   ///< null when nothing was repaired
  const AgainstReport* compared = nullptr;  ///< null when nothing was compared
  bool ok() const { return verified.ok() && (compared == nullptr || compared->findings.empty()); }
};

program::Json to_json(const Outcome& outcome);
/// What is wrong when not all is well, and what to do next. The findings of the check decide; if
/// there are none, it is the source that differs.
std::string what_is_wrong(const VerifyReport& report);
std::string advice_for(const VerifyReport& report);

/// A line for each file repaired, for each finding, then what was checked, then the notes.
std::string to_words(const Outcome& outcome);
/// The notes of to_words() alone: what a quiet run still says.
std::string notes_in_words(const Outcome& outcome);

}  // namespace packhorse
