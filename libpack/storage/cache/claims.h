#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/file.h"

namespace packhorse {

/// Who is at which run of one file: at most one thread of all processes. Between processes by a
/// lock on the run's byte of the .runs file; between the threads of one process, which share the
/// file's description and so its locks, by a table. Thread-safe.
///
/// In a child made by fork() it begins anew, with a description, a table and a lease of its own:
/// what threads of the parent have claimed is others' there.
class Claims {
 public:
  /// `fd`: the open .runs file, with the lease that keeps it.
  Claims(UniqueFd fd, std::filesystem::path path);
  ~Claims();  ///< gives up what is claimed
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  /// False when another thread or process is at it.
  bool try_take(std::size_t run);
  void end(std::size_t run);
  /// Whether this process is at it.
  bool is_ours(std::size_t run);
  /// Whether any process is at it.
  bool is_taken(std::size_t run);
  /// Waits until a thread of this process has ended its claim, at most for so long; when another
  /// process has it, for so long.
  void wait(std::size_t run, std::chrono::milliseconds most);
  std::set<std::size_t> ours();
  /// The description of this process.
  int fd() { return of_process().fd.get(); }

 private:
  struct OfProcess {
    pid_t process = 0;
    UniqueFd fd = {};
    std::mutex mutex = {};
    std::condition_variable ended = {};
    std::set<std::size_t> taken = {};
    OfProcess* before = nullptr;  ///< the parent's, whose mutex may be locked for ever
  };
  OfProcess& of_process();
  OfProcess* of_child(OfProcess* parent);

  std::filesystem::path path_;
  std::atomic<OfProcess*> current_;
};

}  // namespace packhorse
