#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "packhorse/walkers/walkers.h"
#include "walkers/walk_protocol.h"

namespace packhorse {

/// Receives each line before the end of a walk and ignores those it does not know. An exception it
/// throws ends the walk.
using WalkLines = std::function<void(std::string_view line)>;

/// A process that does walks (packhorse/walkers/walkers.h). It starts with the first walk, and is
/// killed with all processes it started when this object is destroyed. One thread at a time.
class Walker {
 public:
  explicit Walker(const std::vector<std::string>& command) : command_(command) {}
  ~Walker() { end(); }
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  /// Does one walk and says how it ended. The process is killed after `wall_s` seconds. Throws
  /// Error(kIo) when it cannot be started, Error(kInterrupted).
  WalkEnd run(const WalkTask& task, const WalkBounds& bounds, double wall_s,
              const WalkLines& lines);

 private:
  void start();
  void end();
  WalkEnd died();
  bool send(const std::string& line);

  const std::vector<std::string>& command_;
  pid_t pid_ = -1;
  UniqueFd to_, from_;
  std::string pending_;
};

/// The most that a walk through a shard may take, for a file of `file_bytes` whose decompressed
/// content has `content_bytes`.
WalkBounds bounds_for(std::uint64_t file_bytes, std::uint64_t content_bytes);
/// The wall time that belongs to `bounds`, in seconds.
double wall_time(const WalkBounds& bounds);

/// See packhorse/walkers/walkers.h.
class WalkerPool {
 public:
  explicit WalkerPool(std::vector<std::string> command) : command_(std::move(command)) {}
  /// Does a walk as Walker::run() does, in an idle walker or a new one.
  WalkEnd run(const WalkTask& task, const WalkBounds& bounds, double wall_s,
              const WalkLines& lines);

 private:
  const std::vector<std::string> command_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Walker>> idle_;
};

}  // namespace packhorse
