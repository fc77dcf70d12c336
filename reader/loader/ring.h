#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "loader/slot_pool.h"
#include "packhorse/reader/loader.h"

namespace packhorse::reader {

/// What many threads write for every sample lies in lines of its own, away from what all of them
/// read: a line that one processor writes leaves the caches of the others.
inline constexpr std::size_t kCacheLine = 64;

/// The loader's slots, and the only place where its threads wait. Step s of an epoch is built in
/// slot s % slots. A slot goes round: open for its step -> filled by the producers, sample by
/// sample -> ready -> leased by the consumer -> given back, and open for the step `slots` later.
///
/// Producers lock the mutex once a batch; in between they use the tickets and the slot's counter.
class Ring {
 public:
  struct Slot {
    std::shared_ptr<std::uint8_t> images;  ///< exchanged only while leased
    std::vector<std::int64_t> labels;
    std::vector<std::uint64_t> samples;
    std::vector<EncodedSample> encoded;           ///< empty unless some are left so
    std::vector<PlacedTargets> places;            ///< of each place; empty unless they are read
    std::vector<std::uint8_t> masks;              ///< theirs, while they are made
    BatchTargets targets;                         ///< the same, joined when the batch is taken
    std::vector<BatchField> fields;               ///< as LoaderOptions::fields names them
    MixedLabels mixed;                            ///< empty unless batches are mixed
    std::chrono::steady_clock::time_point begun;  ///< when work on its first sample began

   private:
    friend class Ring;
    std::atomic<std::uint64_t> open{kNone};  ///< the step that may be written now
    // Under the ring's mutex:
    bool ready = false;
    bool leased = false;
    std::uint64_t next = kNone;  ///< the step it will be opened for when it comes back
    /// The samples of the open step that are complete. Nothing else is in its line.
    alignas(kCacheLine) std::atomic<std::int64_t> filled{0};
  };

  Ring(int slots, std::int64_t batch_size, std::size_t slot_bytes, const SlotAllocator& allocator);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  Slot& slot(std::uint64_t step) { return slots_[index(step)]; }
  std::size_t index(std::uint64_t step) const { return step % slots_.size(); }

  // For producers.

  /// Waits for an epoch other than `seen`, which it updates, and counts the caller in. Returns
  /// false to stop.
  bool enter(std::uint64_t& seen, const std::stop_token& stop);
  void leave();
  /// Waits until the slot of `step` may be written. Returns false when the epoch is over.
  bool wait_open(std::uint64_t step, const std::stop_token& stop);
  /// True when the slot of `step` may be written, so that wait_open() would not wait.
  bool is_open(std::uint64_t step) {
    return slot(step).open.load(std::memory_order_acquire) == step;
  }
  /// Marks one more of the `batch_size` samples of `step` as complete. Returns true for the last
  /// one: its thread may change the whole batch, and then calls make_ready().
  bool complete_one(std::uint64_t step, std::int64_t batch_size);
  void make_ready(std::uint64_t step);
  /// Ends the epoch with an error; only the first one counts.
  void fail(std::exception_ptr error);
  /// Whoever sees that an epoch is on sees what was set before begin_epoch().
  bool over() const { return over_.load(std::memory_order_acquire); }

  // For the consumer.

  /// Waits for the batch of `step` and leases its slot. Sets `ready` to the number of ready batches
  /// found. Throws what fail() was given.
  Slot& take(std::uint64_t step, std::uint64_t& ready);
  /// Waits until take() would not wait, but no longer than `most`. Returns false then.
  bool wait_ready(std::uint64_t step, std::chrono::nanoseconds most);
  /// Ends the epoch and waits until no producer is in it.
  void end_epoch();
  /// Opens the slots for a new epoch and lets the producers in. Call after end_epoch().
  void begin_epoch();

  // For the holder of a lease, in any thread.

  /// Takes the memory of a leased slot's images, which gets another piece.
  std::shared_ptr<std::uint8_t> keep_images(std::size_t index);
  void give_back(std::size_t index);

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  void open(Slot& slot);
  /// Under the mutex.
  bool is_done(std::uint64_t step) { return error_ || (slot(step).ready && is_open(step)); }

  std::shared_ptr<SlotPool> memory_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable_any producers_;  ///< an epoch began or ended, or a slot was opened
  std::condition_variable_any
      consumer_;  ///< a batch is ready, an error is there, or a producer left
  std::atomic<bool> over_{true};
  std::uint64_t epochs_begun_ = 0;
  int inside_ = 0;  ///< producers between enter() and leave()
  std::exception_ptr error_;
};

/// Makes room in a slot for the targets of `places` samples, each with a mask of `mask_pixels`, or
/// none where these are 0.
void give_places(Ring::Slot& slot, std::size_t places, std::size_t mask_pixels);
/// Puts what the first `samples` places have one after the other, for the batch. In a slot
/// without places the batch has none.
void join_targets(Ring::Slot& slot, std::size_t samples);

}  // namespace packhorse::reader
