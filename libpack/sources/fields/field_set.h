#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "listing/listing.h"
#include "sources/fields/field_pattern.h"

namespace packhorse {

/// The extra fields that the listing of a folder or an archive looks for, by name: beside the
/// images, or where a pattern says. Bit f of EntryTable::Facts::fields is field f. Thread-safe.
class FieldSet {
 public:
  struct Field {
    std::string name;
    std::optional<FieldPattern> place;  ///< nothing: beside the image
    bool required = false;              ///< an image without it is rejected
  };

  FieldSet() = default;
  /// Throws Error(kUsage) as checked_fields() and FieldPattern do, and for a name given twice.
  FieldSet(const FieldChoice& choice, const std::filesystem::path& source);

  std::size_t size() const { return fields_.size(); }
  const Field& operator[](std::size_t f) const { return fields_[f]; }
  const std::vector<Field>& all() const { return fields_; }
  std::vector<std::string> names() const;
  /// The fields whose bits are set.
  std::vector<std::string> names_of(std::uint32_t bits) const;

  /// Whether a file of that name could be the field of an image beside it.
  bool may_be_beside(std::string_view name) const;
  /// Whether some lie elsewhere.
  bool any_elsewhere() const { return elsewhere_; }
  /// Whether the file at that path in the source could be such a field.
  bool may_be_elsewhere(std::string_view path) const;
  /// Whether all files in that folder of the source could be.
  bool covers(std::string_view folder) const;
  /// Whether a pattern spells out the folder's name.
  bool spells(std::string_view folder) const;

 private:
  template <class Is>
  bool any(const Is& is) const {
    return std::ranges::any_of(fields_,
                               [&](const Field& field) { return field.place && is(*field.place); });
  }

  std::vector<Field> fields_;
  std::vector<std::string> beside_;
  bool elsewhere_ = false;
};

}  // namespace packhorse
