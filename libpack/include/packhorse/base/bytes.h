#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

/// A view of bytes somebody else owns.
using Bytes = std::span<const std::byte>;

/// Bytes that stay in place as long as it lives, or a copy of it.
struct BytesLease {
  Bytes bytes = {};
  /// Keeps them; null: the function that returned them says how long they stay.
  std::shared_ptr<const void> owner = {};
};

/// Where bytes are in a file.
struct ByteRange {
  std::uint64_t offset = 0;  ///< bytes from the start of the file
  std::uint64_t length = 0;  ///< bytes
  std::uint64_t end() const { return offset + length; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

inline Bytes as_bytes(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace packhorse
