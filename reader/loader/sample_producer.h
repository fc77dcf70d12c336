#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stop_token>

#include "loader/ring.h"
#include "loader/sample_maker.h"
#include "order/order.h"
#include "packhorse/reader/bad_samples.h"

namespace packhorse::reader {

/// Makes samples in their places, and does with one that fails what LoaderOptions::bad_samples
/// says: ends the epoch, puts another sample there, or leaves the place empty. One thread makes
/// samples; any may ask for the counters. It has its own cache lines because counters are written
/// for every sample.
class alignas(kCacheLine) SampleProducer {
 public:
  /// All of `shared`, `ring` and `bad` must outlive it.
  SampleProducer(const SampleMaker::Shared& shared, Ring& ring, BadSampleLog& bad);
  SampleProducer(const SampleProducer&) = delete;
  SampleProducer& operator=(const SampleProducer&) = delete;

  /// Waits until the slot of `step` may be written. Returns false when the epoch is over.
  bool wait_open(std::uint64_t step, const std::stop_token& stop);
  /// Makes the sample of a draw of this order and epoch. Returns false when the epoch is over; it
  /// has then told the ring why.
  bool make(Ring::Slot& slot, std::size_t place, const Order& order, std::uint64_t epoch,
            Draw draw);
  /// Adds what it has done so far.
  void add_to(LoaderCounters& total) const;

 private:
  bool fill(Ring::Slot& slot, std::size_t place, Draw draw);
  bool replace(Ring::Slot& slot, std::size_t place, Draw draw);
  bool leave_out(Ring::Slot& slot, std::size_t place, std::uint64_t sample);
  std::uint64_t replace_beside(std::uint64_t failed, int attempt, const Error& error);
  std::uint64_t replacement(std::uint64_t sample, int attempt) const;
  bool note_bad(std::uint64_t failed, std::uint64_t by);
  bool is_dispensable(std::uint64_t sample, const Error& error);

  const Dataset& dataset_;
  Ring& ring_;
  BadSampleLog& bad_;
  SampleMaker maker_;
  const Order* order_ = nullptr;  ///< of the sample that is made
  std::uint64_t epoch_ = 0;
  std::exception_ptr error_;  ///< of the sample that failed last, which it names
  std::atomic<std::uint64_t> samples_{0}, wait_ns_{0};
};

}  // namespace packhorse::reader
