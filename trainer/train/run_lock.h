#pragma once

#include <filesystem>
#include <vector>

#include "base/file.h"

namespace packhorse::trainer {

/// Keeps other runs out of a directory as long as it lives, or until this process ends in any way:
/// two would mix their checkpoints and logs. It makes the directory, and removes it again if
/// nothing came into it.
class RunLock {
 public:
  /// Throws Error(kExists) where another run is at it, Error(kIo).
  explicit RunLock(const std::filesystem::path& directory);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  /// False where the file system has no locks.
  bool holds() const { return holds_; }

 private:
  const std::filesystem::path directory_, file_;
  std::vector<std::filesystem::path> made_;  ///< directories, the innermost first
  bool holds_ = false;
  UniqueFd fd_;
};

}  // namespace packhorse::trainer
