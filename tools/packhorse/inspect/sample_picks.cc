#include "inspect/sample_picks.h"

#include <algorithm>

#include "base/permutation.h"
#include "dataset/shard_index.h"

namespace packhorse::inspect {

std::vector<std::size_t> random_picks(const std::vector<std::size_t>& samples, std::size_t count,
                                      std::uint64_t seed) {
  if (count >= samples.size()) return samples;
  const Permutation order(samples.size(), mix64(seed));
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < count; ++i) places.push_back(order(i));
  std::ranges::sort(places);
  for (std::size_t& place : places) place = samples[place];
  return places;
}

std::vector<ClassPicks> picks_by_class(const PackedDataset& dataset,
                                       const std::vector<std::size_t>& samples, std::size_t count,
                                       std::uint64_t seed) {
  std::vector<std::vector<std::size_t>> of_class(dataset.classes().size());
  for (const std::size_t sample : samples) {
    const PackedDataset::Place at = dataset.place(sample);
    const auto label = static_cast<std::size_t>(dataset.index(at.shard)->label(at.row));
    if (label < of_class.size()) of_class[label].push_back(sample);
  }
  std::vector<ClassPicks> picks;
  for (std::size_t label = 0; label < of_class.size(); ++label) {
    if (of_class[label].empty()) continue;
    picks.push_back(
        {label, of_class[label].size(), random_picks(of_class[label], count, mix64(seed) + label)});
  }
  return picks;
}

}  // namespace packhorse::inspect
