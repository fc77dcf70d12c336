#pragma once

#include <memory>
#include <string>
#include <vector>

#include "packhorse/reader/loader.h"

namespace packhorse::reader {

/// A point of the throughput curve.
struct SweepPoint {
  int workers = 0;
  double images_per_s = 0;
};

struct Autotuned {
  int workers = 0;                ///< for LoaderOptions::workers
  std::string reason;             ///< a sentence for people
  std::vector<SweepPoint> curve;  ///< all measured points
};

/// Finds how many workers pay off on this machine, for this dataset and these options. Reads with
/// 1, 2, 4, ... workers, up to all CPUs the process may use, for `seconds` each, and takes the
/// fewest that come near the best rate (within 5 %). The dataset is read as it is, warm or cold;
/// what the first worker counts read is warm for later ones. The batches are the same for any
/// number of workers. Throws what Loader throws, and Error(kUsage) for an empty dataset.
Autotuned autotune(const std::shared_ptr<const Dataset>& dataset, const LoaderOptions& options,
                   double seconds = 1);

/// What tune() chose, for LoaderOptions.
struct Tuned {
  int workers = 0, slots = 0;
  OrderKind order = OrderKind::kGlobal;
  std::vector<std::string> reasons;  ///< a sentence for each choice
};

/// Does the same in about `seconds`, then finds how many slots pay off, with those workers: as many
/// as `options` say, or twice as many. Where the dataset is not in memory, the order
/// becomes kWindow, which makes other batches and mixes less, where the order of `options` has less
/// than 80 % of its rate. Obeys the stop of its thread. Throws as autotune() does.
Tuned tune(const std::shared_ptr<const Dataset>& dataset, LoaderOptions options,
           double seconds = 10);

}  // namespace packhorse::reader
