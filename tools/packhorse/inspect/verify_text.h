#pragma once

#include <optional>
#include <string>

#include "common/program.h"
#include "packhorse/verify/against.h"
#include "packhorse/verify/repair.h"
#include "packhorse/verify/verify.h"

/// What `packhorse inspect --verify`, `--against` and `--repair` say.
namespace packhorse::inspect {

struct Outcome {
  const VerifyReport& verified;
  const std::optional<RepairReport>& repaired;
  const std::optional<AgainstReport>& compared;
  bool ok() const { return verified.ok() && (!compared || compared->findings.empty()); }
};

program::Json to_json(const Outcome& outcome);
/// For who is told that not all is well: what that is, and what to do next. Findings of the check
/// alone; without any, it is the source that differs.
std::string what_is_wrong(const VerifyReport& report);
std::string advice_for(const VerifyReport& report);

/// A line for each file repaired, for each finding, then what was checked, then the notes.
std::string to_words(const Outcome& outcome);

}  // namespace packhorse::inspect
