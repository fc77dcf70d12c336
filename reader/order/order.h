#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "order/sampler.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/reader/order_kind.h"

namespace packhorse::reader {

struct OrderOptions {
  OrderKind kind = OrderKind::kGlobal;
  std::shared_ptr<const Runs> runs = {};  ///< for windows: the dataset's runs
  std::size_t runs_per_window = 16;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::int64_t rank = 0;
  std::int64_t world = 1;
  std::int64_t batch_size = 1;  ///< of one rank
  Tail tail = Tail::kDrop;
  std::uint64_t done = 0;  ///< samples of this epoch already delivered, over all ranks (resume)
};

/// The samples of one epoch for one rank, in order, without storing them. The epoch's global order
/// is that of Draws: without weights, a keyed permutation of all samples (windows: of runs, and of
/// the samples in each window). It does not depend on `world`. Global batch g takes the next world
/// * batch_size samples of it, and rank r the places r, r + world, ... of those. So a run can
/// continue at another world size from `done` samples with exactly the samples not seen yet, and
/// every rank makes the same number of steps. Value type; thread-safe.
class Order {
 public:
  /// Throws Error(kUsage) for a rank outside the world, a batch below 1, kKeep with several ranks,
  /// or what Draws refuses.
  Order(std::shared_ptr<const Sampler> sampler, const OrderOptions& options);
  /// Of each of so many samples once.
  Order(std::uint64_t samples, const OrderOptions& options);

  std::uint64_t steps() const { return steps_; }
  /// Samples this rank delivers in all remaining steps.
  std::uint64_t size() const;
  /// Samples in batch `step` of this rank: batch_size, or less in the last one with kKeep.
  std::int64_t batch_size(std::uint64_t step) const;
  /// What comes at `place` of batch `step`.
  Draw draw(std::uint64_t step, std::int64_t place) const;
  std::uint64_t sample(std::uint64_t step, std::int64_t place) const {
    return draw(step, place).sample;
  }
  /// The rank's samples as one sequence: ticket t < size() is place t % batch_size of step t /
  /// batch_size.
  std::uint64_t sample(std::uint64_t ticket) const;
  /// For windows: the first ticket after those that share the window of `ticket`. Nothing for the
  /// other orders, where no tickets are better fetched together than others.
  std::optional<std::uint64_t> window_end(std::uint64_t ticket) const;
  /// Global samples delivered after `step` whole steps, including `done`.
  std::uint64_t done_after(std::uint64_t steps) const;
  /// The epoch of all ranks.
  const Draws& draws() const { return *draws_; }

 private:
  std::uint64_t position(std::uint64_t step, std::int64_t place) const;

  OrderOptions options_;
  std::uint64_t samples_;  ///< of the epoch
  std::uint64_t steps_;
  std::shared_ptr<const Draws> draws_;
};

/// Looks at up to `batches` batches, evenly spread over the epoch. Zeros when there are none.
ShuffleQuality shuffle_quality(const Dataset& dataset, const Order& order, std::uint64_t batches);

}  // namespace packhorse::reader
