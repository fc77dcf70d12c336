#pragma once

#include <filesystem>
#include <optional>

#include "packhorse/base/file.h"

namespace packhorse {

/// The lock of a staging directory: the file ROOT/lock. It says who works there, and that the
/// directory is packhorse's. Writers on one machine or many come and go at any time, and any of
/// them may die at any time. What they keep to:
///
/// 1. A writer makes ROOT and ROOT/lock, or opens the lock that is there, and takes it by flock,
///    without waiting: alone, or shared with the other tasks of one job.
/// 2. It has the directory only if the file it locked is still the one of that name. A writer that
///    ended removed its lock while it held it; who then locks that file begins again.
/// 3. It signs the lock ("process N on HOST") before it puts anything else into ROOT. So a ROOT
///    with other things in it and without a signed lock is somebody else's. This is looked at under
///    the lock, when no writer can be on its way out, and the other things before the signature,
///    as a task beside this one may sign just then.
/// 4. Who holds it alone may change everything in ROOT; tasks that share it only add files.
/// 5. Who holds it alone ends by removing first all else, then the lock, then ROOT. The last fails
///    when the next writer has put its lock there already: it keeps the directory.
///
/// A lock's name is only removed by who holds that very file alone, so nobody loses a directory
/// that it holds. Who dies leaves a signed lock that nobody holds: the next writer takes it over.
/// One thread.
class StagingLock {
 public:
  /// kAlone: nobody else works here meanwhile. kShared: any number of tasks of one job do.
  enum class Hold { kAlone, kShared };

  /// Makes the directory where it is not there. Throws Error(kExists) naming the process that holds
  /// it, or when the directory is somebody else's; kIo and kNoSpace.
  StagingLock(std::filesystem::path root, Hold hold);
  /// The directory of a writer that died, alone; none where there is no such thing.
  static std::optional<StagingLock> take_over(const std::filesystem::path& root);

  /// Whether the directory held nothing yet when it was taken.
  bool fresh() const { return fresh_; }
  /// Removes ROOT with all that is in it, and lets go. Only for who holds it alone.
  void remove_root();

 private:
  enum class Found { kTaken, kGone, kHeld };
  StagingLock(std::filesystem::path root, UniqueFd fd);
  Found try_to_take(Hold hold);
  void claim();
  void undo();

  std::filesystem::path root_, path_;
  UniqueFd fd_;
  bool made_ = false;  ///< the lock file is this writer's own
  bool fresh_ = false;
};

}  // namespace packhorse
