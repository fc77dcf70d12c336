#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/reader/dataset.h"

/// Storage slower than the one there is, to study what it would do to training.
namespace packhorse::reader {

/// A storage device as its delays. A request takes one of `depth` places for `access_s` (and
/// `open_s` more where it opens a file), then the one line all share for its bytes.
struct StorageModel {
  std::string name;                  ///< of a preset, or as it was typed
  double open_s = 0;                 ///< to open a file: what it takes to find it
  double access_s = 0;               ///< from a request to its first byte
  double bytes_per_s = 0;            ///< of all requests together; 0: no limit
  int depth = 0;                     ///< requests under way at a time; 0: no limit
  std::string_view stands_for = {};  ///< a preset's words; empty for one that was typed
};

/// hdd, sata-ssd, nfs, nvme: the figures and where they come from stand in simulated_storage.cc.
std::span<const StorageModel> storage_presets();

/// A preset's name, or delays one by one: "open=5ms,access=0.1ms,rate=100MB,depth=4", each optional
/// and 0 without it; or a preset with some of them replaced: "nfs,open=5ms". Times in s, ms or us;
/// rates a second, in B, kB, MB or GB. Throws Error(kUsage).
StorageModel parse_storage(const std::string& text);

/// Bytes between two samples of a file that are read along, as one request for both and the gap
/// takes no longer than two: what the line delivers in the part of an access that is not hidden
/// behind those of the other places. 0 where requests cost nothing, or where any number is under
/// way at a time; at most kJoinedBytes.
std::uint64_t joined_gap(const StorageModel& storage);

/// When requests would have been answered, and waiting for it. Thread-safe.
class SimulatedStorage {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SimulatedStorage(StorageModel model);

  const StorageModel& model() const { return model_; }
  /// Begins a request now; returns when it is answered.
  Clock::time_point request(std::uint64_t bytes, bool opens);
  /// As request(), of what was begun at `now`.
  Clock::time_point request_at(Clock::time_point now, std::uint64_t bytes, bool opens);
  /// Sleeps until then. Delays below 0.1 ms come out longer by what a wake-up takes, some 0.05 ms.
  static void wait_until(Clock::time_point answered);

  std::uint64_t requests() const;
  std::uint64_t bytes() const;  ///< of all requests

 private:
  const StorageModel model_;
  mutable std::mutex mutex_;
  std::vector<Clock::time_point> places_;  ///< when each is free; a min-heap
  Clock::time_point line_free_;
  std::uint64_t requests_ = 0, bytes_ = 0;
};

/// `dataset`, as if it lay on `storage` with nothing of it cached. A file apart for each sample is
/// opened for each; other files once. What is prefetched or read is there from when it has arrived,
/// until release(). What lies together is asked for together, up to kJoinedBytes, over gaps as
/// joined_gap() has them; compressed shards count with their samples' own sizes. The delays come on
/// top of what the real storage takes, so the files should be in the page cache.
std::shared_ptr<const Dataset> on_simulated_storage(std::shared_ptr<const Dataset> dataset,
                                                    std::shared_ptr<SimulatedStorage> storage);

}  // namespace packhorse::reader
