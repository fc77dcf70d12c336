#pragma once

#include <filesystem>
#include <optional>

#include "base/file.h"

namespace packhorse {

/// The lock of a staging directory: the file ROOT/lock. It says who works there, and that the
/// directory is packhorse's. Writers on one machine or many come and go at any time, and any of
/// them may die at any time. They keep to these rules:
///
/// 1. A writer makes ROOT and ROOT/lock, or opens the lock that is there, and takes it by flock,
///    without waiting: alone, or shared with the other tasks of one job.
/// 2. It has the directory only if the file it locked still has that name. A writer that ended
///    removed the lock while holding it; a writer that then locks the removed file begins again.
/// 3. It signs the lock ("process N on HOST") before it puts anything else into ROOT. So a ROOT
///    that holds other things and no signed lock belongs to somebody else. This is checked under
///    the lock, when no writer can be on its way out, and the other things are looked at before the
///    signature, because a task sharing the lock may sign at that moment.
/// 4. A writer that holds it alone may change everything in ROOT; tasks that share it only add
///    files.
/// 5. A writer that holds it alone ends by removing everything else first, then the lock, then
///    ROOT. The last step fails when the next writer has already put its lock there: that writer
///    keeps the directory.
///
/// Only a writer that holds a lock file alone removes its name, so no writer loses a directory that
/// it holds. A writer that dies leaves a signed lock that nobody holds, and the next writer takes
/// it over. One thread.
class StagingLock {
 public:
  /// kAlone: no other writer works here meanwhile. kShared: any number of tasks of one job do.
  enum class Hold { kAlone, kShared };

  /// Makes the directory if there is none. Throws Error(kExists) naming the process that holds it,
  /// or when the directory belongs to somebody else; kIo and kNoSpace.
  StagingLock(std::filesystem::path root, Hold hold);
  /// Takes over the directory of a writer that died, alone; nothing when there is no such
  /// directory.
  static std::optional<StagingLock> take_over(const std::filesystem::path& root);

  /// Whether the directory was empty when it was taken.
  bool fresh() const { return fresh_; }
  /// Removes ROOT and everything in it, and releases the lock. Only for a writer that holds it
  /// alone.
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
