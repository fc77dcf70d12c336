#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "sources/arrays/array_files.h"

namespace packhorse::arrays {

/// The labels in an array of integers, as texts. Read a part at a time, so that memory does not
/// grow with their number. The Payloads must outlive this.
class ArrayLabels {
 public:
  /// Throws Error(kUnsupported) with `path` for an array of something else.
  ArrayLabels(const StoredArray& array, Payloads& payloads, const std::filesystem::path& path);

  /// Calls visit(i, text) for each, in order.
  void for_each(const std::function<void(std::uint64_t, const std::string&)>& visit) const;

 private:
  const Payloads* payloads_;
  std::uint64_t locator_, count_, width_;
  bool is_signed_, big_endian_;
};

}  // namespace packhorse::arrays
