#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "order/order.h"
#include "packhorse/reader/dataset.h"

namespace packhorse::reader {

/// Requests an epoch's samples from the storage before the producers get to them, from a thread of
/// its own, so that the kernel has many reads in flight while they work on what is there. Requests
/// follow the order of the epoch; in windowed epochs, the stored order within a window, while the
/// window before is being worked on.
class Prefetcher {
 public:
  /// Begins at once. `ahead_bytes`: how far to be ahead of the producers; at least a whole window.
  /// Both references must outlive it. It and its requests end with `stop`, or with it: producers
  /// may be waiting for what it has requested.
  Prefetcher(const Dataset& dataset, const Order& order, std::uint64_t ahead_bytes,
             const std::stop_token& stop);

  /// Reports that a producer has begun with `ticket`. Any thread; cheap.
  void reached(std::uint64_t ticket);
  /// Bytes requested so far. Any thread.
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  void run(const std::stop_token& stop);
  /// Requests tickets [begin, end) in stored order. Returns false when stopped.
  bool ask(std::uint64_t begin, std::uint64_t end, std::uint64_t ahead,
           const std::stop_token& stop);
  /// Requests the piece of samples_ that begins at `at`; returns its end.
  std::size_t ask_piece(std::size_t at, std::size_t most);
  /// The end of the piece of samples_ that begins at `at`: a run of a window, or less.
  std::size_t piece_end(std::size_t at, std::size_t most) const;
  bool wait_for(std::uint64_t ticket, const std::stop_token& stop);

  const Dataset& dataset_;
  const Order& order_;
  const std::uint64_t sample_bytes_;  ///< on average
  const std::uint64_t ahead_;         ///< tickets
  std::vector<std::uint64_t> samples_;
  std::atomic<std::uint64_t> bytes_{0}, reached_{0};
  std::mutex mutex_;
  std::condition_variable_any moved_;
  std::jthread thread_;  // after everything that it uses
  std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace packhorse::reader
