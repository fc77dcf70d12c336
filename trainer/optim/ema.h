#pragma once

#include <cstdint>
#include <vector>

#include "device/named_tensors.h"

namespace packhorse::trainer {

/// The exponential moving average of a model's parameters and floating-point buffers; other buffers
/// are copied. In the first steps the decay is (1 + step) / (10 + step) if that is less, so that
/// the average forgets the initial parameters. One thread at a time.
class Ema {
 public:
  /// Starts at the present values. `state` (parameters and buffers) remains the model's memory.
  Ema(NamedTensors state, double decay);

  /// Call after the optimiser's step number `step`, counted from 0.
  void update(std::int64_t step);
  /// The averages, under the model's names. Changing the tensors changes the average.
  const NamedTensors& average() const { return average_; }

  /// Gives the model the averaged values while this object lives: for evaluation.
  class Applied {
   public:
    explicit Applied(Ema& ema) : ema_(ema) { ema_.swap(); }
    ~Applied() { ema_.swap(); }
    Applied(const Applied&) = delete;
    Applied& operator=(const Applied&) = delete;

   private:
    Ema& ema_;
  };

 private:
  void swap();

  double decay_;
  NamedTensors state_, average_;
  std::vector<at::Tensor> from_, to_;                ///< averaged: the model's, and the averages
  std::vector<at::Tensor> copied_from_, copied_to_;  ///< the others
};

}  // namespace packhorse::trainer
