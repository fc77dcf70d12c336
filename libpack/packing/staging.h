#pragma once

#include <filesystem>
#include <string>

#include "packhorse/file.h"

namespace packhorse {

/// The directory a dataset is built in:
///
///     OUT.partial/lock                    held (flock) by whoever writes here
///     OUT.partial/job                     names the options of the tasks that share it
///     OUT.partial/data/...                becomes OUT in one rename
///     OUT.partial/receipts/<split>/...    one for each finished shard: what it was made from
///
/// Nothing in it has a dataset.json before the very end, so no reader takes it for a dataset.
class Staging {
 public:
  /// kAlone: nobody else works here meanwhile. kShared: any number of tasks of one job do.
  enum class Hold { kAlone, kShared };

  /// Creates or takes over the directory. `job` names all that must be the same in each task:
  /// whoever shares must have the same. Throws Error(kExists) naming the process that holds it, or
  /// saying that the tasks there belong to another job.
  Staging(const std::filesystem::path& out, Hold hold, const std::string& job);

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path data(const std::string& split) const;
  std::filesystem::path receipts(const std::string& split) const;

  /// Removes every file below `directory` that is not in `keep`, and the directories that leaves
  /// empty.
  static void remove_others(const std::filesystem::path& directory,
                            const std::vector<std::filesystem::path>& keep);

  /// Syncs all directories and gives the data its final name; with `overwrite`, in exchange for
  /// what is there. Then removes the staging directory.
  void publish(bool overwrite);
  /// Removes the staging directory, with all that is in it.
  void discard();

 private:
  void clear_unfinished() const;
  std::filesystem::path out_, root_;
  UniqueFd lock_;
};

/// Throws Error(kExists) when `out` is there; with `overwrite`, only when it is no packed dataset,
/// as nothing else is ever replaced. Throws Error(kUsage) when `out` lies inside `source`.
void check_target(const std::filesystem::path& source, const std::filesystem::path& out,
                  bool overwrite);

}  // namespace packhorse
