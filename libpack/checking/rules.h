#pragma once

#include <string_view>

#include "packhorse/base/reason.h"
#include "packhorse/checking/check.h"
#include "sources/source.h"

namespace packhorse {

/// The rule with this code, which there is.
const CheckRule& check_rule(std::string_view code);
/// The rule of a reason to reject an input.
const CheckRule& rule_of(Reason reason);
/// The rule of a doubt about classes.
const CheckRule& rule_of(Doubt::Kind doubt);

}  // namespace packhorse
