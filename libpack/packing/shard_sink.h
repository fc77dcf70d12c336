#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "packhorse/packing/pack.h"
#include "packing/pack_shard.h"
#include "packing/staging.h"

namespace packhorse {

/// Where the shards of a dataset go. A folder takes all of them in one rename at the end; a bucket
/// takes each as soon as it is packed. The calls come in the order in which they stand here.
/// Thread-safe. It may work in the staging directory until it is destroyed, so destroy it before
/// the lock of that directory is let go.
class ShardSink {
 public:
  virtual ~ShardSink() = default;

  /// The number of shards of each split, by its name.
  using Splits = std::vector<std::pair<std::string, std::size_t>>;
  /// A shard that was packed, or found packed.
  struct Finished {
    const std::string& split;
    std::size_t number;
    const ShardOutcome& outcome;
  };

  /// Throws Error(kExists) when a dataset is in the way, and Error(kUsage) as check_target() does.
  virtual void refuse_existing() const = 0;
  /// Throws Error(kExists) when all splits are complete: nothing is left to do for a task.
  virtual void refuse_finished(const Splits& splits) const = 0;
  /// Whether another process has published here since refuse_existing().
  virtual bool is_taken() const = 0;
  /// Says which job the tasks work at. Throws Error(kExists) when it is another one, and
  /// Error(kUsage) where tasks have no place to meet.
  virtual void join(const std::string& job) = 0;

  /// Whether the data file of a shard that is not in the staging directory is where it will stay.
  virtual bool holds(const std::string& split, const ShardRecord& record) const = 0;
  /// Brings the receipt and the index of a shard that another machine has packed into the staging
  /// directory, in the place of what lies there, and removes `stale`, the data file of that. False
  /// when there is no receipt.
  virtual bool bring(const Staging& staging, const std::string& split, std::size_t shard,
                     const std::filesystem::path& stale) const = 0;
  /// Those of all shards that have no receipt in the staging directory.
  virtual void bring_all(const Staging& staging, const Splits& splits) const = 0;

  /// The shards that may wait in the staging directory at once, beside those being packed.
  virtual std::size_t most_waiting() const = 0;
  /// Takes a finished shard over; one that may change is held back until settle(). Waits while as
  /// many as most_waiting() wait. Throws what an earlier one threw.
  virtual void add(const Staging& staging, const Finished& shard) = 0;
  /// The shards that add() held back.
  virtual std::size_t held_back() const = 0;
  /// Takes over a shard that was held back, as it is now.
  virtual void settle(const Staging& staging, const Finished& shard) = 0;
  /// Waits until all are where they will stay. Throws what an earlier one threw.
  virtual void finish() = 0;

  /// Makes the sealed files in the staging directory the dataset, and removes that directory. An
  /// error after the last step says that the dataset is in place.
  virtual void publish(Staging& staging, const std::vector<PackedSplit>& splits,
                       const Splits& shards) = 0;
  /// Where another machine has published all splits: removes what tasks have left beside them. Says
  /// whether that is so.
  virtual bool clear_if_finished(const Splits& splits) = 0;
};

/// A folder. `source` as check_target() takes it.
std::unique_ptr<ShardSink> folder_sink(const std::filesystem::path& source,
                                       const std::filesystem::path& out, bool overwrite);
/// A URL (bucket_sink.cc). `staging`: the directory, which an earlier run may have left. Throws as
/// BucketFiles does.
std::unique_ptr<ShardSink> bucket_sink(const std::filesystem::path& out,
                                       const std::filesystem::path& staging,
                                       const PackOptions& options);

}  // namespace packhorse
