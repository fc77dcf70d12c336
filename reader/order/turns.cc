#include "order/turns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/permutation.h"

namespace packhorse::reader {

namespace {

constexpr std::uint64_t kMostCells = 1u << 18;  ///< of groups by blocks, unless there is one block
constexpr std::uint64_t kMostBlocks = 1u << 12;

}  // namespace

Turns::Turns(std::vector<std::uint64_t> quotas, std::uint64_t block, std::uint64_t key)
    : quotas_(std::move(quotas)), begins_{0} {
  const std::uint64_t positions = std::accumulate(quotas_.begin(), quotas_.end(), std::uint64_t{0});
  const std::uint64_t most = std::clamp<std::uint64_t>(kMostCells / quotas_.size(), 1, kMostBlocks);
  const std::uint64_t blocks = std::clamp<std::uint64_t>(positions / block, 1, most);
  for (std::size_t group = 0; group < quotas_.size(); ++group)
    phases_.push_back(mix64(mix64(key) + group) % blocks);
  begins_.resize(blocks + 1);
  ends_.reserve(blocks * quotas_.size());
  for (std::size_t number = 0; number < blocks; ++number) {
    std::uint64_t end = 0;
    for (std::size_t group = 0; group < quotas_.size(); ++group) {
      end += turns_before_block(group, number + 1) - turns_before_block(group, number);
      ends_.push_back(static_cast<std::uint32_t>(end));
    }
    begins_[number + 1] = begins_[number] + end;
    mixes_.emplace_back(end, mix64(key + 1) + number);
  }
}

/// From 0 before the first block to the quota behind the last one, for any phase below the number
/// of blocks. The products are below 2^64: an epoch has fewer than 2^52 positions.
std::uint64_t Turns::turns_before_block(std::size_t group, std::size_t block) const {
  return (quotas_[group] * block + phases_[group]) / (begins_.size() - 1);
}

std::size_t Turns::block_of(std::uint64_t position) const {
  return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), position) -
                                  begins_.begin()) -
         1;
}

Turns::Turn Turns::at(std::uint64_t position) const {
  const std::size_t block = block_of(position);
  const std::uint64_t place = mixes_[block](position - begins_[block]);
  const auto row = std::span(ends_).subspan(block * quotas_.size(), quotas_.size());
  const auto found = std::upper_bound(row.begin(), row.end(), place);
  const auto group = static_cast<std::size_t>(found - row.begin());
  const std::uint64_t begin = group == 0 ? 0 : row[group - 1];
  return {group, turns_before_block(group, block) + place - begin};
}

std::uint64_t Turns::block_end(std::uint64_t position) const {
  return begins_[block_of(position) + 1];
}

std::vector<std::uint64_t> Turns::before(std::uint64_t position) const {
  if (position >= begins_.back()) return quotas_;
  const std::size_t block = block_of(position);
  std::vector<std::uint64_t> turns;
  for (std::size_t group = 0; group < quotas_.size(); ++group)
    turns.push_back(turns_before_block(group, block));
  for (std::uint64_t at_one = begins_[block]; at_one < position; ++at_one)
    ++turns[at(at_one).group];
  return turns;
}

std::vector<std::uint64_t> quotas_of(std::span<const double> weights, std::uint64_t positions,
                                     std::uint64_t key) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double phase = static_cast<double>(mix64(key) >> 11) * 0x1p-53;
  const auto total = static_cast<double>(positions);
  std::vector<std::uint64_t> quotas;
  double before = 0;
  std::uint64_t begin = 0;
  for (std::size_t group = 0; group < weights.size(); ++group) {
    before += weights[group];
    std::uint64_t end = positions;
    // Groups without a weight at the end get nothing, whatever was rounded.
    if (before < sum)
      end =
          std::min(positions, static_cast<std::uint64_t>(std::floor(before / sum * total + phase)));
    quotas.push_back(end - begin);
    begin = end;
  }
  return quotas;
}

}  // namespace packhorse::reader
