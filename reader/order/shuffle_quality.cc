#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "order/order.h"

namespace packhorse::reader {

namespace {

/// The mean number of different classes among `n` samples drawn from the whole dataset.
double expected_classes(const Dataset& dataset, std::int64_t n) {
  std::unordered_map<std::int64_t, std::uint64_t> sizes;
  for (std::size_t i = 0; i < dataset.size(); ++i) ++sizes[dataset.label(i)];
  double expected = 0;
  for (const auto& [label, size] : sizes) {
    const double share = static_cast<double>(size) / static_cast<double>(dataset.size());
    expected += 1 - std::pow(1 - share, static_cast<double>(n));
  }
  return expected;
}

}  // namespace

ShuffleQuality shuffle_quality(const Dataset& dataset, const Order& order, std::uint64_t batches) {
  batches = std::min(batches, order.steps());
  if (batches == 0) return {};
  double pairs = 0, classes = 0, expected_pairs = 0;
  for (std::uint64_t i = 0; i < batches; ++i) {
    const std::uint64_t step = i * order.steps() / batches;
    const std::int64_t size = order.batch_size(step);
    std::vector<std::uint64_t> samples;
    std::unordered_set<std::int64_t> labels;
    for (std::int64_t place = 0; place < size; ++place) {
      samples.push_back(order.sample(step, place));
      labels.insert(dataset.label(samples.back()));
    }
    std::ranges::sort(samples);
    for (std::size_t k = 1; k < samples.size(); ++k) pairs += samples[k] == samples[k - 1] + 1;
    const auto n = static_cast<double>(size);
    expected_pairs += n * (n - 1) / static_cast<double>(dataset.size());
    classes += static_cast<double>(labels.size());
  }
  const double expected = expected_classes(dataset, order.batch_size(0));
  return {expected_pairs > 0 ? pairs / expected_pairs : 0,
          classes / static_cast<double>(batches) / expected};
}

}  // namespace packhorse::reader
