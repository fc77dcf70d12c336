#pragma once

#include <span>
#include <string_view>

namespace packhorse::trainer {

/// The names of an enumeration's values, in their order, as options and files spell them. Defined
/// for the enumerations of recipe.h.
template <class Enum>
std::span<const std::string_view> names_of();

template <class Enum>
std::string_view name_of(Enum value) {
  return names_of<Enum>()[static_cast<std::size_t>(value)];
}

/// The index of `name` in `names`. Throws Error(kUsage) listing them; `what` says what they name.
std::size_t find_name(std::string_view what, std::string_view name,
                      std::span<const std::string_view> names);

/// Throws Error(kUsage) listing the names.
template <class Enum>
Enum parse_name(std::string_view what, std::string_view name) {
  return static_cast<Enum>(find_name(what, name, names_of<Enum>()));
}

}  // namespace packhorse::trainer
