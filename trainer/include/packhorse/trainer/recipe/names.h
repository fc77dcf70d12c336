#pragma once

#include <span>
#include <string_view>

namespace packhorse::trainer {

/// The names of an enumeration's values, in their order, as options and files have them. Defined
/// for those of recipe.h.
template <class Enum>
std::span<const std::string_view> names_of();

template <class Enum>
std::string_view name_of(Enum value) {
  return names_of<Enum>()[static_cast<std::size_t>(value)];
}

/// Where `name` stands among `names`. Throws Error(kUsage) with those there are; `what` says what
/// they name.
std::size_t find_name(std::string_view what, std::string_view name,
                      std::span<const std::string_view> names);

/// Throws Error(kUsage) with the names there are.
template <class Enum>
Enum parse_name(std::string_view what, std::string_view name) {
  return static_cast<Enum>(find_name(what, name, names_of<Enum>()));
}

}  // namespace packhorse::trainer
