#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "packhorse/dataset/packed_dataset.h"

/// Picks which of many samples to show. All functions are pure: the same seed picks the same
/// samples on any machine.
namespace packhorse::inspect {

/// Draws `count` of `samples` without repetition, and keeps their order.
std::vector<std::size_t> random_picks(const std::vector<std::size_t>& samples, std::size_t count,
                                      std::uint64_t seed);

/// The samples of one class that are shown.
struct ClassPicks {
  std::size_t label = 0;
  std::uint64_t samples = 0;  ///< of the class, among those to choose from
  std::vector<std::size_t> picks;
};

/// Picks `count` samples of each class that has any in `samples`, in the order of labels.
std::vector<ClassPicks> picks_by_class(const PackedDataset& dataset,
                                       const std::vector<std::size_t>& samples, std::size_t count,
                                       std::uint64_t seed);

}  // namespace packhorse::inspect
