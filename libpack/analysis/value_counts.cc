#include "packhorse/analysis/value_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace packhorse {

namespace {

constexpr int kExactBits = 11;  ///< values below 2^11 are groups of their own
constexpr int kGroupBits = kExactBits - 1;
constexpr double kOuterShare = 0.02;  ///< share of values on either side left to the outer bars
constexpr std::uint64_t kMostSpread = 32;  ///< largest ratio that bars of equal width can show
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

/// How many low bits of a value its group ignores.
int open_bits(std::uint64_t value) {
  return std::max(0, static_cast<int>(std::bit_width(value)) - kExactBits);
}

/// Groups are numbered without gaps: 2048 single values, then 1024 groups an octave.
std::size_t group_of(std::uint64_t value) {
  const int open = open_bits(value);
  return static_cast<std::size_t>((static_cast<std::uint64_t>(open) << kGroupBits) +
                                  (value >> open));
}

std::uint64_t first_of(std::size_t group) {
  if (group < (1u << kExactBits)) return group;
  const std::size_t open = (group >> kGroupBits) - 1;
  return (group - (open << kGroupBits)) << open;
}

/// Where all bars but the first begin: at powers of two, or at multiples of a power of two that is
/// no finer than the groups there, so that no group lies in two bars.
std::vector<std::uint64_t> edges_between(std::uint64_t low, std::uint64_t high,
                                         std::size_t wanted) {
  std::vector<std::uint64_t> edges;
  if (high / kMostSpread > low) {
    const auto octaves = static_cast<std::size_t>(std::bit_width(high) - std::bit_width(low | 1));
    const std::size_t stride = std::max<std::size_t>(1, (octaves + wanted - 1) / wanted);
    for (auto bit = static_cast<std::size_t>(std::bit_width(low | 1) - 1); bit < 64;
         bit += stride) {
      edges.push_back(std::uint64_t{1} << bit);
      if (edges.back() > high) break;
    }
    return edges;
  }
  const std::uint64_t width = std::max<std::uint64_t>(std::bit_ceil((high - low + wanted) / wanted),
                                                      std::uint64_t{1} << open_bits(high));
  for (std::uint64_t edge = low / width * width;; edge += width) {
    edges.push_back(edge);
    if (edge > high || edge > kMax - width) return edges;
  }
}

}  // namespace

void ValueCounts::add(std::uint64_t value) {
  const std::size_t group = group_of(value);
  if (group >= counts_.size()) counts_.resize(group + 1);
  ++counts_[group];
  least_ = size_ == 0 ? value : std::min(least_, value);
  most_ = std::max(most_, value);
  ++size_;
}

void ValueCounts::add(const ValueCounts& others) {
  if (others.size_ == 0) return;
  counts_.resize(std::max(counts_.size(), others.counts_.size()));
  for (std::size_t group = 0; group < others.counts_.size(); ++group)
    counts_[group] += others.counts_[group];
  least_ = size_ == 0 ? others.least_ : std::min(least_, others.least_);
  most_ = std::max(most_, others.most_);
  size_ += others.size_;
}

std::uint64_t ValueCounts::quantile(double share) const {
  const auto rank = static_cast<std::uint64_t>(share * static_cast<double>(size_));
  std::uint64_t below = 0;
  for (std::size_t group = 0; group < counts_.size(); ++group) {
    below += counts_[group];
    if (below > rank) return std::clamp(first_of(group), least_, most_);
  }
  return most_;
}

std::vector<Bin> ValueCounts::bins(std::size_t wanted) const {
  if (size_ == 0) return {};
  std::vector<Bin> bins = {{least_, 0, 0}};
  for (const std::uint64_t edge : edges_between(quantile(kOuterShare), quantile(1 - kOuterShare),
                                                std::max<std::size_t>(wanted, 1))) {
    if (edge > least_ && edge <= most_) bins.push_back({edge, 0, 0});
  }
  for (std::size_t i = 0; i < bins.size(); ++i)
    bins[i].end = i + 1 < bins.size() ? bins[i + 1].begin : most_ + (most_ < kMax ? 1 : 0);
  std::size_t bin = 0;
  for (std::size_t group = group_of(least_); group < counts_.size(); ++group) {
    // The first group may begin below the least value.
    while (bin + 1 < bins.size() && first_of(group) >= bins[bin + 1].begin) ++bin;
    bins[bin].count += counts_[group];
  }
  return bins;
}

}  // namespace packhorse
