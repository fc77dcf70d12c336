#pragma once

#include <string>

#include "common/program.h"
#include "packhorse/verify.h"

/// What `packhorse inspect --verify` says, as JSON for programs and as text for people.
namespace packhorse {

program::Json findings_json(const VerifyReport& report);
std::string findings_text(const VerifyReport& report);

}  // namespace packhorse
