#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "packhorse/dataset/packed_dataset.h"

namespace packhorse::inspect {

/// Which samples are meant: `--class NAME` (again for more) and `--samples 0-9,17`; without either,
/// all.
class SampleChoice {
 public:
  void setup(CLI::App& app);
  bool wanted() const { return !classes_.empty() || !samples_.empty(); }
  /// How many classes there are to choose from.
  std::size_t classes(const PackedDataset& dataset) const {
    return classes_.empty() ? dataset.classes().size() : classes_.size();
  }
  bool names_samples() const { return !samples_.empty(); }
  /// Numbers in the dataset: in the order of --samples where it is given, else rising. Throws
  /// Error(kUsage) for what is no list of numbers, Error(kNotFound) for a class or a sample that
  /// is not there, or when none is left.
  std::vector<std::size_t> choose(const PackedDataset& dataset) const;

 private:
  std::vector<std::size_t> numbers(const PackedDataset& dataset) const;
  std::vector<char> labels(const PackedDataset& dataset) const;

  std::vector<std::string> classes_;
  std::string samples_;
};

/// A class by its name, or else by its label. Throws Error(kNotFound).
std::size_t find_class(const PackedDataset& dataset, const std::string& name);

}  // namespace packhorse::inspect
