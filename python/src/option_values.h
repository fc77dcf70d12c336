#pragma once

#include <optional>
#include <span>
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
/// What keyword arguments give, of options or rows of a table. Throws TypeError for others.
GivenOptions values_by_name(const nb::dict& values, const std::vector<const Option*>& options);
template <class Options>
GivenOptions values_by_name(const nb::dict& values, std::span<const OptionOf<Options>> rows) {
  std::vector<const Option*> options;
  for (const Option& row : rows) options.push_back(&row);
  return values_by_name(values, options);
}
/// A row, for scripts/options, and all of a table.
nb::dict described(const Option& option, const std::string& default_text);
template <class Options>
nb::list described(std::span<const OptionOf<Options>> rows) {
  nb::list all;
  for (const OptionOf<Options>& row : rows) all.append(described(row, row.text({})));
  return all;
}

}  // namespace packhorse::python
