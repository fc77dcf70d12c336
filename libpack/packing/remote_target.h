#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataset/remote_files.h"
#include "packhorse/dataset/manifest.h"
#include "packing/staging.h"

namespace packhorse {

/// Packing to a URL. Finished shards go to where they will stay as soon as they are packed; nobody
/// takes them for a dataset before its dataset.json is there, which comes last. Nothing there is
/// ever replaced: a file of the same name must be the same file. For several machines that pack one
/// dataset, what they must know of each other lies beside it:
///
///     OUT/<split>/shard-000007.tar, .index
///     OUT.partial/job                                 as in a staging directory (staging.h)
///     OUT.partial/receipts/<split>/shard-000007.json
///
/// Thread-safe.
class RemoteTarget {
 public:
  /// Throws Error(kUnsupported) where nothing can be stored, and as open_remote() does.
  explicit RemoteTarget(const std::filesystem::path& out);
  ~RemoteTarget();
  RemoteTarget(const RemoteTarget&) = delete;
  RemoteTarget& operator=(const RemoteTarget&) = delete;

  /// The number of shards of each split, by its name.
  using Splits = std::vector<std::pair<std::string, std::size_t>>;

  /// Throws Error(kExists) when there is a dataset, and no run in the directory `staging` to go on
  /// with; Error(kUsage) with `overwrite`.
  void refuse_dataset(const std::filesystem::path& staging, bool overwrite) const;
  /// Throws Error(kExists) when all splits are there: nothing is left to do for a task.
  void refuse_finished(const Splits& splits) const;
  /// Throws Error(kExists) when there is a dataset.json with another text.
  void refuse_other(const std::string& split, const std::string& manifest) const;

  /// Says which job the tasks work at. Throws Error(kExists) when it is another one, and
  /// Error(kUsage) where there is no place beside the dataset.
  void join(const std::string& job);
  /// Brings the receipt and the index of a shard that another machine has packed into the staging
  /// directory, in the place of what lies there, and removes `stale`, the data file of that. False
  /// when there is no receipt.
  bool bring(const Staging& staging, const std::string& split, std::size_t shard,
             const std::filesystem::path& stale) const;
  /// Those of all shards of a split that have no receipt here.
  void bring_all(const Staging& staging, const std::string& split, std::size_t shards) const;

  /// Whether a file is there, stored by packhorse.
  bool holds(const std::string& split, const FileRecord& file) const;
  /// Stores a file that lies at `path`, unless it is there. Throws Error(kExists) when another one
  /// is, and as RemoteFiles::store() does.
  void store(const std::string& split, const FileRecord& file, const std::filesystem::path& path,
             const std::stop_token& stop) const;
  void store_text(const std::string& split, std::string_view name, const std::string& text,
                  const std::stop_token& stop) const;
  /// Ends what was begun of the files of datasets, by their splits, and left by processes that were
  /// killed. Call it when the files are there, and dataset.json is not.
  struct Part {
    std::string split;
    const Manifest& manifest;
  };
  void end_uploads(const std::vector<Part>& parts) const;
  /// Stores a finished shard in a thread of its own, and then removes its data file here. Waits
  /// while others wait, so that the disk holds a few. `receipt` is stored, too, unless it is empty.
  /// Throws what storing an earlier one threw.
  void add(const std::string& split, const std::filesystem::path& data, const ShardRecord& record,
           const std::filesystem::path& receipt, const std::stop_token& stop);
  /// Waits until all are there. Throws what storing one of them threw.
  void finish();

  /// Stores the files of `manifests` (by their splits) that are no shards, the card if there is
  /// one, and each dataset.json when everything else is there.
  void publish(const Staging& staging, const std::vector<Part>& parts, const std::stop_token& stop);

  /// Removes what tasks have left beside. An error says that the dataset is complete; where no task
  /// was seen, there is none.
  void clear(const Splits& splits);
  /// The same, when all splits are there: another machine has finished them. Whether they are.
  bool clear_if_finished(const Splits& splits);

  /// The shards that may lie in the staging directory at once, beside those being packed.
  static constexpr std::size_t kMostHere = 6;

 private:
  struct Upload {
    std::string split;
    std::filesystem::path data;
    ShardRecord record;
    std::filesystem::path receipt;
    std::stop_token stop;
  };
  void run();
  void store(const Upload& upload) const;
  void store_receipt(const Upload& upload) const;
  bool is_finished(const Splits& splits) const;
  /// Opens OUT.partial; nothing for a whole bucket, beside which others' lie.
  std::shared_ptr<RemoteFiles> open_beside() const;

  const std::filesystem::path out_;
  const std::shared_ptr<RemoteFiles> files_;
  std::shared_ptr<RemoteFiles> beside_;  ///< OUT.partial, of tasks; see join()
  std::mutex mutex_;                     ///< guards everything below
  std::condition_variable changed_;
  std::deque<Upload> waiting_;
  std::size_t under_way_ = 0;
  bool ending_ = false;
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;
};

}  // namespace packhorse
