#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/option.h"
#include "bindings.h"

/// Keyword arguments as values of a table's options.
namespace packhorse::python {

/// A str, bytes or a path.
bool is_text(nb::handle value);
/// What a value gives; nothing for None, and for a flag that is as without it. Throws TypeError.
std::optional<OptionValues> values_of(nb::handle value, const Option& option);
/// Throws TypeError with the nearest of the names that there are.
[[noreturn]] void refuse_unknown(const std::string& name, const std::vector<std::string>& names);
/// A row, for scripts/options.
nb::dict described(const Option& option, const std::string& default_text);

}  // namespace packhorse::python
