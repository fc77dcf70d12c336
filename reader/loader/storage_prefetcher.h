#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "packhorse/reader/dataset.h"
#include "packhorse/reader/order.h"

namespace packhorse::reader {

/// Asks the storage for an epoch's samples before the producers get to them, from a thread of its
/// own: the kernel then has many reads in flight while they work on what is there. In the order of
/// the epoch; by windows as they are stored, a window while the one before is worked on.
class Prefetcher {
 public:
  /// Begins at once. `ahead_bytes`: how far before the producers; a whole window, if that is more.
  /// Both references must outlive it.
  Prefetcher(const Dataset& dataset, const Order& order, std::uint64_t ahead_bytes);

  /// Producers have begun with `ticket`. Any thread; cheap.
  void reached(std::uint64_t ticket);
  /// Bytes asked for so far. Any thread.
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  void run(const std::stop_token& stop);
  /// Tickets [begin, end), asked for as they are stored. False: stopped.
  bool ask(std::uint64_t begin, std::uint64_t end, std::uint64_t ahead,
           const std::stop_token& stop);
  /// Where the piece of samples_ ends that begins at `at`: a run of a window, or less.
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
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace packhorse::reader
