#include "sources/fields/field_set.h"

#include <algorithm>

#include "base/printable.h"
#include "listing/field_names.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

FieldSet::FieldSet(const FieldChoice& choice, const std::filesystem::path& source)
    : elsewhere_(!choice.places.empty()) {
  if (choice.names) beside_ = checked_fields(*choice.names, source);
  std::vector<std::string> names = beside_;
  for (const std::string& name : beside_) fields_.push_back({.name = name, .place = {}});
  for (const FieldPlace& place : choice.places) {
    if (std::ranges::find(names, place.name) != names.end()) {
      throw Error(ErrorKind::kUsage, "the field '" + printable(place.name) + "' is given twice",
                  source, "give each field one place, and another name to the second");
    }
    names.push_back(place.name);
    fields_.push_back({place.name, FieldPattern(place), place.required});
  }
  checked_fields(names, source);
  std::ranges::sort(fields_, {}, &Field::name);
}

std::vector<std::string> FieldSet::names() const { return names_of(~std::uint32_t{0}); }

std::vector<std::string> FieldSet::names_of(std::uint32_t bits) const {
  std::vector<std::string> names;
  for (std::size_t f = 0; f < size(); ++f)
    if ((bits >> f & 1) != 0) names.push_back(fields_[f].name);
  return names;
}

bool FieldSet::may_be_beside(std::string_view name) const { return is_field_file(name, beside_); }

bool FieldSet::may_be_elsewhere(std::string_view path) const {
  return any([&](const FieldPattern& place) { return place.may_be(path); });
}

bool FieldSet::covers(std::string_view folder) const {
  return any([&](const FieldPattern& place) { return place.covers(folder); });
}

bool FieldSet::spells(std::string_view folder) const {
  return any([&](const FieldPattern& place) { return place.spells(folder); });
}

}  // namespace packhorse
