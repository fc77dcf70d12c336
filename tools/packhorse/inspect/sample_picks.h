#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "packhorse/dataset/packed_dataset.h"

/// Which of many samples are shown. All are functions of their arguments: the same seed picks the
/// same samples on any machine.
namespace packhorse::inspect {

/// `count` of `samples`, drawn without repetition, in their order.
std::vector<std::size_t> random_picks(const std::vector<std::size_t>& samples, std::size_t count,
                                      std::uint64_t seed);

/// The samples of one class that are shown.
struct ClassPicks {
  std::size_t label = 0;
  std::uint64_t samples = 0;  ///< of the class among those there was to choose from
  std::vector<std::size_t> picks;
};

/// `count` of each class that has any of `samples`, in the order of their labels.
std::vector<ClassPicks> picks_by_class(const PackedDataset& dataset,
                                       const std::vector<std::size_t>& samples, std::size_t count,
                                       std::uint64_t seed);

}  // namespace packhorse::inspect
