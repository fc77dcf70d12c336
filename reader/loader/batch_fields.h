#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "packhorse/reader/batch_fields.h"
#include "packhorse/reader/dataset.h"

namespace packhorse::reader {

/// Reads LoaderOptions::fields. Any thread, each at places of its own.
class FieldsReader {
 public:
  /// The most bytes of an array in a sample.
  static constexpr std::uint64_t kMostArrayBytes = 64u << 20;

  /// Arrays have the type and shape of the first sample's. Throws Error(kUsage) for a field that no
  /// sample has, and for an array that the first one does not have; Error(kUnsupported) for arrays
  /// that cannot be stacked; and what reading throws.
  FieldsReader(const Dataset& dataset, const std::vector<std::string>& names);

  /// Fields of a batch, with room for so many samples.
  std::vector<BatchField> make_room(std::size_t places) const;
  /// Throws Error(kCorrupt) for damaged fields, Error(kUnsupported) for arrays unlike the first
  /// sample's.
  void read(std::uint64_t sample, std::size_t place, std::vector<BatchField>& to,
            std::vector<std::byte>& scratch) const;
  /// Leaves a place without a sample: without values, and with zeros.
  void leave_out(std::size_t place, std::vector<BatchField>& to) const;

 private:
  struct Field {
    std::size_t number = 0;       ///< in Dataset::fields()
    BatchField like;              ///< without values
    std::size_t array_bytes = 0;  ///< of one sample
  };
  void learn_array(Field& field) const;

  const Dataset& dataset_;
  std::vector<Field> fields_;
};

}  // namespace packhorse::reader
