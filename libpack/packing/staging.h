#pragma once

#include <filesystem>
#include <string>

#include "packing/staging_lock.h"

namespace packhorse {

/// The directory a dataset is built in:
///
///     OUT.partial/lock                    held (flock) by whoever writes here (staging_lock.h)
///     OUT.partial/job                     what is made here: "pack", SHA-256 of the options; ...
///     OUT.partial/data/...                becomes OUT in one rename
///     OUT.partial/receipts/<split>/...    one for each finished shard: what it was made from
///     OUT.partial/tasks/...               who packs what (task_note.h)
///
/// Nothing in it has a dataset.json before the very end, so no reader takes it for a dataset.
class Staging {
 public:
  using Hold = StagingLock::Hold;

  /// Creates the directory, or takes over the one of a run that died. `job` names what is made:
  /// first a line with the command, then everything that must be the same for all tasks. Throws
  /// Error(kExists) as StagingLock does, when a different command has begun there, and, with a
  /// shared hold, when the tasks there belong to another job.
  /// `root`: the directory, where it is not the one beside `out`.
  Staging(const std::filesystem::path& out, Hold hold, const std::string& job,
          const std::filesystem::path& root = {});

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path data(const std::string& split) const;
  std::filesystem::path receipts(const std::string& split) const;

  /// Removes the staging directory of a run that died right after its rename. Does nothing while a
  /// writer is at work there, or, with kKept, when the directory holds data. Call it when `out`
  /// already exists.
  enum class Finished { kKept, kRemoved };
  static void clear_leftover(const std::filesystem::path& out, Finished finished = Finished::kKept);

  /// Removes every file below `directory` that is not in `keep`, and directories that become empty.
  static void remove_others(const std::filesystem::path& directory,
                            const std::vector<std::filesystem::path>& keep);

  /// Syncs all directories of the data and gives the data its final name; with `overwrite`, in
  /// exchange for what is there. Then removes the staging directory. An error after the rename says
  /// that the data is in place.
  void publish(bool overwrite);
  /// Removes the staging directory of a dataset that was published otherwise. An error says that
  /// `published` is in place.
  void remove_behind(const std::filesystem::path& published);
  /// Removes the staging directory and everything in it. Does not try again when the removal after
  /// publishing has failed.
  void discard();
  /// Does the same, but what cannot be removed stays behind for the next writer to take over.
  void abandon() noexcept;

 private:
  void clear_unfinished() const;
  void refuse_others(Hold hold) const;
  void begin(Hold hold, const std::string& job) const;
  std::filesystem::path out_, root_;
  StagingLock lock_;
  bool published_ = false;
};

/// Throws Error(kExists) when `out` exists; with `overwrite`, only when it is not a packed dataset,
/// since nothing else is ever replaced. Throws Error(kUsage) when `out` lies inside `source`, or
/// when `source` lies inside an `out` that would be replaced; an empty `source` is none.
void check_target(const std::filesystem::path& source, const std::filesystem::path& out,
                  bool overwrite);

}  // namespace packhorse
