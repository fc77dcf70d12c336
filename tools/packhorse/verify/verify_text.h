#pragma once

#include <string>

#include "common/program.h"
#include "packhorse/verify/against.h"
#include "packhorse/verify/repair.h"
#include "packhorse/verify/verify.h"

/// What `packhorse inspect --verify` and `--against` and `packhorse repair` say.
namespace packhorse {

struct Outcome {
  const VerifyReport& verified;
  const RepairReport* repaired = nullptr;   ///< where something was repaired
  const AgainstReport* compared = nullptr;  ///< where it was compared with the source
  bool ok() const { return verified.ok() && (compared == nullptr || compared->findings.empty()); }
};

program::Json to_json(const Outcome& outcome);
/// For who is told that not all is well: what that is, and what to do next. Findings of the check
/// alone; without any, it is the source that differs.
std::string what_is_wrong(const VerifyReport& report);
std::string advice_for(const VerifyReport& report);

/// A line for each file repaired, for each finding, then what was checked, then the notes.
std::string to_words(const Outcome& outcome);

}  // namespace packhorse
