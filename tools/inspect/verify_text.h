#pragma once

#include <string>

#include "common/program.h"
#include "packhorse/verify.h"

/// What `packhorse inspect --verify` says.
namespace packhorse::inspect {

program::Json findings_json(const VerifyReport& report);
/// A line for each finding, then one that sums up, then the notes.
std::string findings_text(const VerifyReport& report);

}  // namespace packhorse::inspect
