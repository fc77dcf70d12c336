#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "packhorse/dataset/packed_dataset.h"

namespace packhorse::inspect {

/// A target that is no object, and the field that holds it.
struct FieldTarget {
  TargetRecord record;
  std::size_t field = 0;  ///< its place among the dataset's fields
};

/// The dataset's target of that kind; nothing when it has none, or not its field.
std::optional<FieldTarget> find_target(const PackedDataset& dataset, std::string_view kind);

/// Reads what is said of a sample in words: its classes, where it has several, in brackets, and its
/// caption. One thread.
class SampleWords {
 public:
  explicit SampleWords(const PackedDataset& dataset);
  /// Whether samples may have any.
  bool any() const { return classes_ || caption_; }
  /// On one line, the caption shortened; empty when there is nothing. Throws Error(kCorrupt | kIo).
  std::string read(std::size_t sample);

 private:
  const PackedDataset& dataset_;
  std::optional<FieldTarget> classes_;
  std::optional<std::size_t> caption_;  ///< the field
  std::vector<std::byte> bytes_;
};

}  // namespace packhorse::inspect
