#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace packhorse::reader {

/// A field of the samples of a batch: what they have besides their image.
struct BatchField {
  std::string name;
  /// Of NumPy's files (.npy), the type of their numbers, as their headers have it: "<f4", "|u1".
  /// Empty for all other fields.
  std::string type = {};
  bool is_text = false;  ///< .txt, and captions: the bytes are UTF-8
  /// Bytes of each sample, nothing where it has no such field. Empty for arrays.
  std::vector<std::optional<std::vector<std::byte>>> values = {};
  /// Arrays: the shape of each sample's, and all of them one after the other, [batch, shape...].
  std::vector<std::size_t> shape = {};
  std::shared_ptr<std::byte[]> numbers = {};
};

}  // namespace packhorse::reader
