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

/// Simulates storage slower than this machine's, to study its effect on training.
namespace packhorse::reader {

/// A storage device, described by its delays. A request takes one of `depth` places for `access_s`
/// (plus `open_s` where it opens a file); then its bytes go over the one line that all requests
/// share.
struct StorageModel {
  std::string name;                  ///< a preset's name, or the text that was typed
  double open_s = 0;                 ///< to find and open a file
  double access_s = 0;               ///< from a request to its first byte
  double bytes_per_s = 0;            ///< of all requests together; 0: no limit
  int depth = 0;                     ///< requests under way at a time; 0: no limit
  std::string_view stands_for = {};  ///< a preset's words; empty for one that was typed
};

/// hdd, sata-ssd, nfs, nvme. simulated_storage.cc has the figures and where they come from.
std::span<const StorageModel> storage_presets();

/// Reads a preset's name, or delays one by one: "open=5ms,access=0.1ms,rate=100MB,depth=4", each
/// optional and 0 where omitted; or a preset with some of them replaced: "nfs,open=5ms". Times in
/// s, ms or us; rates per second, in B, kB, MB or GB. Throws Error(kUsage).
StorageModel parse_storage(const std::string& text);

/// The longest gap, in bytes, between two samples of a file that one request reads along with them.
/// It takes no longer than two requests: as many bytes as the line delivers in the part of an
/// access that other accesses do not hide. 0 where requests cost nothing, or where any number may
/// be under way at a time; at most kJoinedBytes.
std::uint64_t joined_gap(const StorageModel& storage);

/// Computes when requests would be answered, and waits for it. Thread-safe.
class SimulatedStorage {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SimulatedStorage(StorageModel model);

  const StorageModel& model() const { return model_; }
  /// Begins a request now; returns the time at which it is answered.
  Clock::time_point request(std::uint64_t bytes, bool opens);
  /// The same for a request that began at `now`.
  Clock::time_point request_at(Clock::time_point now, std::uint64_t bytes, bool opens);
  /// Sleeps until `answered`. Delays below 0.1 ms become longer by a wake-up, about 0.05 ms.
  static void wait_until(Clock::time_point answered);

  std::uint64_t requests() const;
  std::uint64_t bytes() const;  ///< of all requests

 private:
  const StorageModel model_;
  mutable std::mutex mutex_;
  std::vector<Clock::time_point> places_;  ///< the time at which each is free; a min-heap
  Clock::time_point line_free_;
  std::uint64_t requests_ = 0, bytes_ = 0;
};

/// Returns `dataset` as if it were on `storage` with nothing cached. A dataset with one file per
/// sample opens a file for each sample; other files are opened once. What is prefetched or read
/// counts as present from its arrival until release(). Adjacent samples are requested together, up
/// to kJoinedBytes, across gaps of up to joined_gap(); compressed shards count with their samples'
/// own sizes. The delays come on top of the real storage's, so the files should be in the page
/// cache.
std::shared_ptr<const Dataset> on_simulated_storage(std::shared_ptr<const Dataset> dataset,
                                                    std::shared_ptr<SimulatedStorage> storage);

}  // namespace packhorse::reader
