#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/permutation.h"

namespace packhorse::reader {

class Dataset;

/// A dataset cut into runs: a few megabytes of samples that are adjacent in one file, so that a
/// disk or a network reads a run at its full speed. Immutable; thread-safe.
class Runs {
 public:
  /// A run ends where a file ends, or with the sample that brings it to `run_bytes`. In a dataset
  /// with Dataset::extents(), a file is cut into as many runs of equal numbers of samples.
  Runs(const Dataset& dataset, std::uint64_t run_bytes);

  std::size_t size() const { return begins_.size() - 1; }
  std::uint64_t samples() const { return begins_.back(); }
  /// Samples [begin, end) of the dataset.
  std::uint64_t begin(std::size_t run) const { return begins_[run]; }
  std::uint64_t end(std::size_t run) const { return begins_[run + 1]; }
  /// The run that begins with `sample`, or behind it.
  std::size_t run_at(std::uint64_t sample) const;

 private:
  std::vector<std::uint64_t> begins_;
};

/// The order of an epoch that reads large pieces and mixes what it has read: the runs in random
/// order, `runs_per_window` of them to a window, and the samples of each window in random order.
/// Takes 16 bytes of memory a run. Value type; thread-safe.
class WindowOrder {
 public:
  /// Samples that are runs as a whole.
  struct Samples {
    std::uint64_t begin, end;
  };
  WindowOrder(std::shared_ptr<const Runs> runs, std::size_t runs_per_window, std::uint64_t key,
              Samples samples);

  /// Dataset sample at `position` of the epoch.
  std::uint64_t sample(std::uint64_t position) const;
  /// The first position after the window of `position`.
  std::uint64_t window_end(std::uint64_t position) const;

 private:
  struct Window {
    std::uint64_t begin, end;  ///< positions
    std::uint64_t number;
  };
  Window window_of(std::uint64_t position) const;
  std::size_t place_of(std::uint64_t position) const;
  std::uint64_t begin_of(std::size_t place) const { return place == 0 ? 0 : ends_[place - 1]; }

  std::shared_ptr<const Runs> runs_;
  std::size_t runs_per_window_;
  std::uint64_t key_;
  std::size_t first_run_;
  Permutation order_;                ///< of the runs
  std::vector<std::uint64_t> ends_;  ///< positions behind the run at each place of that order
};

}  // namespace packhorse::reader
