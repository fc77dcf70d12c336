#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "archive/payloads.h"

namespace packhorse {

/// An array of numbers whose values can be read at random. Nothing in it is trusted, but its values
/// lie inside their file.
struct StoredArray {
  std::string name;  ///< the file's name without its suffix, and the array's name in the file
  std::string type;  ///< NumPy's: "|u1", "<i8", ">f4"
  std::vector<std::uint64_t> shape;
  bool fortran_order = false;
  std::uint32_t file = 0;  ///< in the Payloads
  Place place;             ///< of its first value
  std::uint64_t bytes = 0;

  std::uint64_t rows() const { return shape.empty() ? 0 : shape.front(); }
  /// "|u1 (10, 28, 28)", for messages.
  std::string description() const;
};

/// Whether a file's name is one of a file of arrays: .npy, .npz.
bool has_array_name(const std::filesystem::path& path);

/// Opens the files, which `payloads` then holds, and lists their arrays: what a .npz holds is
/// copied to the spool, but only those arrays whose names say that they are images or labels.
/// Throws Error(kCorrupt) for a damaged or cut file, Error(kUnsupported) for one that expands
/// without measure.
std::vector<StoredArray> open_arrays(const std::vector<std::filesystem::path>& files,
                                     Payloads& payloads);

/// The bytes of one value of a NumPy type; 0 for a type that is not of numbers.
std::uint64_t value_bytes(const std::string& type);

/// What the name of an array says: "train_images", "x_test", "labels";
/// "camelyonpatch_level_2_split_train_x/x" for the array "x" in a file of that name.
struct ArrayName {
  enum class Role { kNone, kImages, kLabels };
  Role role = Role::kNone;
  std::string split;  ///< "train", "val", "test"; "" when it names none
  /// Its other words. Images and labels belong together when these are the same.
  std::string rest;
  bool unclear = false;  ///< it names two splits
};

/// The last part of the name with a word for images or labels tells the role.
ArrayName parse_array_name(std::string_view name);

}  // namespace packhorse
