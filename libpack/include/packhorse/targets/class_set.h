#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "packhorse/base/bytes.h"

namespace packhorse {

/// The field that holds a sample's classes if it may have several, and the field with the same as
/// text for other readers.
inline constexpr std::string_view kClassesField = "classes", kClassesText = "classes.json";

/// The classes of a sample that may have several, or none.
struct ClassSet {
  std::vector<std::int32_t> labels;  ///< places in the class list, ascending
  std::vector<float> scores;         ///< one for each label, or none
  friend bool operator==(const ClassSet&, const ClassSet&) = default;
};

/// The bytes in which a shard holds them (docs/formats/objects.md), little-endian.
std::vector<std::byte> encode_classes(const ClassSet& classes);
/// Throws Error(kCorrupt) unless labels ascend, from 0, and there are as many finite scores or
/// none. It does not know how many classes there are.
ClassSet decode_classes(Bytes field);

}  // namespace packhorse
