#pragma once

#include <cstdint>

namespace packhorse::trainer {

/// The learning rate by step: linear warm-up, then half a cosine down to zero (Loshchilov, Hutter
/// 2017, without restarts):
///
///     lr |    .-.
///        |   /   `.
///        |  /      `.
///        | /         `-.
///        +-------------------- step
///          ^warmup_steps     ^total_steps
struct Schedule {
  double lr = 0.1;  ///< the highest value
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;

  /// The learning rate of step 0, 1, ... total_steps - 1. Steps beyond get 0.
  double at(std::int64_t step) const;
};

}  // namespace packhorse::trainer
