#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "dataset/dataset_directory.h"
#include "dataset/shard_index.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/verify/verify.h"
#include "verify/meter.h"
#include "verify/shard_copies.h"
#include "walkers/walk_task.h"
#include "walkers/walker.h"

namespace packhorse {

/// Checks one shard and its index, in steps that may run in parallel once open() is done. The
/// objects it refers to must outlive it.
class ShardCheck {
 public:
  /// `copies`: where data files are once start() of it has been called, if the dataset is at a URL
  /// and more than sizes are checked; else nullptr.
  ShardCheck(const DatasetDirectory& dataset, const Manifest& manifest, const ShardRecord& record,
             const VerifyOptions& options, ShardCopies* copies, Meter& meter);

  /// Checks presence, sizes, and everything about the index. Call it first, and alone.
  void open();
  /// Checks every byte of the data file; without walkers, also walks it, if it is intact.
  void bytes();
  /// Checks the bytes of some samples only.
  void bytes_of(std::size_t first, std::size_t rows);
  /// Walks the shard with the format's own library, whatever its bytes are; only with walkers.
  void structure();
  void decode(std::size_t first, std::size_t rows);

  /// Whether the index can be used. Call it after open().
  bool has_index() const { return index_.has_value(); }
  /// The bytes of the data file that there are to look at, if any. Call it after open().
  std::optional<std::uint64_t> data_bytes() const { return data_bytes_; }
  /// The findings, in the order of the steps above. Call it last.
  std::vector<Finding> findings();
  bool walked() const { return walked_; }
  bool not_walked() const { return not_walked_; }  ///< it is damaged and might crash this process
  std::uint64_t decoded() const { return decoded_; }

 private:
  bool check_size();
  void open_index();
  /// Walks in a process of its own if there are walkers, otherwise here. Counts the images that
  /// were decoded, and returns the row after the last one walked.
  std::size_t walk(const WalkTask& task);
  WalkTask task(WalkTask::Kind kind) const;
  std::filesystem::path data_path() const;  ///< for messages
  /// Where the libraries that look into the shard find it, and its index.
  const std::filesystem::path& root() const;
  /// Opens the file anew for each step, as there may be more shards than files that can be open.
  UniqueFd open_data() const;
  WalkBounds bounds(const WalkTask& task) const;
  void take(const WalkFinding& finding);
  void take(const WalkTask& task, const WalkEnd& end);
  void add_damage(const std::vector<struct DamagedPiece>& damage);
  void add(FindingKind kind, std::string detail);
  Finding about(FindingKind kind, std::int64_t row, std::string detail) const;

  const DatasetDirectory& dataset_;
  const Manifest& manifest_;
  const ShardRecord& record_;
  const VerifyOptions& options_;
  ShardCopies* const copies_;
  Meter& meter_;

  std::optional<ShardIndex> index_;
  /// Its actual size; nothing when it does not exist, or is too large to be copied from a URL.
  std::optional<std::uint64_t> data_bytes_;
  bool data_there_ = false;  ///< it exists with the size it should have
  std::mutex mutex_;         ///< guards everything below
  std::vector<Finding> files_, payload_, walk_;
  std::vector<bool> bytes_only_;  ///< by walk_: says nothing beyond what `payload_` may say
  bool walked_ = false, not_walked_ = false;
  std::uint64_t decoded_ = 0;
};

/// Opens a file of the dataset, which must have `bytes` bytes and the SHA-256 `sum`. Adds what is
/// wrong; opens nothing when the file does not exist or lies outside the dataset. Throws what says
/// nothing about the dataset: that the storage of a URL cannot be reached.
UniqueFd verify_file(const DatasetDirectory& dataset, const std::string& file, std::uint64_t bytes,
                     const std::string& sum, std::vector<Finding>& findings);

/// Calls `report` for every defect; with kDecode, once for each image that was not decoded to its
/// end. `row` always holds the row being looked at, -1 before the first, so an observer outside
/// knows where a walk ended. Runs other people's libraries on bytes that may be damaged, so it may
/// crash or never return: walkers (walkers/walker.h) run it in a process of its own. Not for
/// kDescribe, which has more to say. Throws Error(kInterrupted), and Error(kIo) as files do.
void walk(const WalkTask& task, std::atomic<std::int64_t>& row,
          const std::function<void(const WalkFinding&)>& report);

}  // namespace packhorse
