#include "order/runs.h"

#include <algorithm>

#include "packhorse/reader/dataset.h"

namespace packhorse::reader {

Runs::Runs(const Dataset& dataset, std::uint64_t run_bytes) : begins_{0} {
  const std::vector<Dataset::Extent> files = dataset.extents();
  for (const Dataset::Extent& file : files) {
    const std::uint64_t begin = begins_.back();
    const std::uint64_t runs = std::min(file.samples, file.bytes / run_bytes + 1);
    // 128 bits: the product may need more than 64.
    for (std::uint64_t run = 1; run <= runs; ++run)
      begins_.push_back(
          begin + static_cast<std::uint64_t>(static_cast<__uint128_t>(file.samples) * run / runs));
  }
  if (!files.empty()) return;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    bytes += dataset.bytes(i);
    const bool last = i + 1 == dataset.size() || dataset.file_of(i + 1) != dataset.file_of(i);
    if (bytes < run_bytes && !last) continue;
    begins_.push_back(i + 1);
    bytes = 0;
  }
}

std::size_t Runs::run_at(std::uint64_t sample) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(begins_, sample) - begins_.begin());
}

WindowOrder::WindowOrder(std::shared_ptr<const Runs> runs, std::size_t runs_per_window,
                         std::uint64_t key, Samples samples)
    : runs_(std::move(runs)),
      runs_per_window_(std::max<std::size_t>(1, runs_per_window)),
      key_(key),
      first_run_(runs_->run_at(samples.begin)),
      order_(runs_->run_at(samples.end) - first_run_, mix64(key)) {
  ends_.reserve(order_.size());
  std::uint64_t end = 0;
  for (std::size_t place = 0; place < order_.size(); ++place) {
    const std::size_t run = first_run_ + order_(place);
    ends_.push_back(end += runs_->end(run) - runs_->begin(run));
  }
}

std::size_t WindowOrder::place_of(std::uint64_t position) const {
  return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), position) -
                                  ends_.begin());
}

WindowOrder::Window WindowOrder::window_of(std::uint64_t position) const {
  const std::size_t number = place_of(position) / runs_per_window_;
  const std::size_t first = number * runs_per_window_;
  const std::size_t behind = std::min(first + runs_per_window_, ends_.size());
  return {begin_of(first), ends_[behind - 1], number};
}

std::uint64_t WindowOrder::sample(std::uint64_t position) const {
  const Window window = window_of(position);
  const Permutation mix(window.end - window.begin, mix64(key_ + 1) + window.number);
  const std::uint64_t mixed = window.begin + mix(position - window.begin);
  const std::size_t place = place_of(mixed);
  return runs_->begin(first_run_ + order_(place)) + mixed - begin_of(place);
}

std::uint64_t WindowOrder::window_end(std::uint64_t position) const {
  return window_of(position).end;
}

}  // namespace packhorse::reader
