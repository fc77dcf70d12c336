#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "packhorse/dataset/dataset_directory.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/dataset/shard_index.h"
#include "packhorse/verify/verify.h"
#include "verify/meter.h"
#include "walkers/walker.h"

namespace packhorse {

/// Checks one shard and its index, in steps that may run beside each other once open() is done.
/// All it refers to must outlive it.
class ShardCheck {
 public:
  ShardCheck(const DatasetDirectory& dataset, const Manifest& manifest, const ShardRecord& record,
             const VerifyOptions& options, Meter& meter, const std::stop_token& stop);

  /// Presence, sizes, and all about the index. First, and alone.
  void open();
  /// Every byte of the data file; and, without a process to do it in, the walk of a whole one.
  void bytes();
  /// The bytes of some samples alone.
  void bytes_of(std::size_t first, std::size_t rows);
  /// By the format's own library, whatever the bytes are, when there is a process to do it in.
  void structure();
  void decode(std::size_t first, std::size_t rows);

  /// Whether its index can be used, after open().
  bool has_index() const { return index_.has_value(); }
  /// What was found, in the order of the steps above. Last.
  std::vector<Finding> findings();
  bool walked() const { return walked_; }
  bool not_walked() const { return not_walked_; }  ///< as it is damaged, and may crash us
  std::uint64_t decoded() const { return decoded_; }

 private:
  bool check_size();
  void open_index();
  /// In a process of its own if there are some, or else here. Counts the images that were decoded,
  /// and returns the row behind the last one that was walked.
  std::size_t walk(const WalkTask& task);
  WalkTask task(WalkTask::Kind kind) const;
  std::filesystem::path data_path() const;
  /// Anew for each step, as shards may be more than files that can be open.
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
  Meter& meter_;
  const std::stop_token& stop_;

  std::optional<ShardIndex> index_;
  std::optional<std::uint64_t> data_bytes_;  ///< the size it has; nothing when it is not there
  bool data_there_ = false;                  ///< with the size it should have
  std::mutex mutex_;                         ///< of all below
  std::vector<Finding> files_, payload_, walk_;
  std::vector<bool> bytes_only_;  ///< of walk_: nothing beyond what `payload_` may say
  bool walked_ = false, not_walked_ = false;
  std::uint64_t decoded_ = 0;
};

/// Opens a file of the dataset, which must have `bytes` bytes and, with a sum, that SHA-256. Adds
/// what is wrong; nothing is open when it is not there at all, or is not in the dataset.
UniqueFd verify_file(const DatasetDirectory& dataset, const std::string& file, std::uint64_t bytes,
                     const std::string& sum, std::vector<Finding>& findings,
                     DatasetDirectory::Links links = DatasetDirectory::Links::kNone);

}  // namespace packhorse
