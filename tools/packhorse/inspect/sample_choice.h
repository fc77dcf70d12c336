#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "packhorse/dataset/packed_dataset.h"

namespace packhorse::inspect {

/// The samples chosen by `--class NAME` (may be repeated) and `--samples 0-9,17`; all samples when
/// neither is given.
class SampleChoice {
 public:
  void setup(CLI::App& app);
  bool wanted() const { return !classes_.empty() || !samples_.empty(); }
  /// The number of classes to choose from.
  std::size_t classes(const PackedDataset& dataset) const {
    return classes_.empty() ? dataset.classes().size() : classes_.size();
  }
  bool names_samples() const { return !samples_.empty(); }
  /// Sample numbers in the dataset: in the order of --samples if it is given, otherwise ascending.
  /// Throws Error(kUsage) for text that is not a list of numbers, Error(kNotFound) for a class or
  /// sample that does not exist, or when no sample is left.
  std::vector<std::size_t> choose(const PackedDataset& dataset) const;

 private:
  std::vector<std::size_t> numbers(const PackedDataset& dataset) const;
  std::vector<char> labels(const PackedDataset& dataset) const;

  std::vector<std::string> classes_;
  std::string samples_;
};

/// Finds a class by name or, failing that, by label. Throws Error(kNotFound).
std::size_t find_class(const PackedDataset& dataset, const std::string& name);

}  // namespace packhorse::inspect
