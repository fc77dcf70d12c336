#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "packhorse/base/file.h"
#include "packhorse/walkers/walkers.h"
#include "walkers/walk_protocol.h"

namespace packhorse {

/// Gets each line that is said before the end of a walk; what it does not know it passes over. What
/// it throws ends the walk.
using WalkLines = std::function<void(std::string_view line)>;

/// A process that does walks (packhorse/walk.h). It starts with the first of them, and is killed
/// with all it started when this object goes. One thread at a time.
class Walker {
 public:
  explicit Walker(const std::vector<std::string>& command) : command_(command) {}
  ~Walker() { end(); }
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  /// Does one walk and says how it ended; it is killed after `wall_s` seconds. Throws Error(kIo)
  /// when the process cannot be started, Error(kInterrupted).
  WalkEnd run(const WalkTask& task, const WalkBounds& bounds, double wall_s, const WalkLines& lines,
              const std::stop_token& stop);

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

/// What a walk through a shard may take at most: of a file of `file_bytes`, which holds
/// `content_bytes` when it is decompressed.
WalkBounds bounds_for(std::uint64_t file_bytes, std::uint64_t content_bytes);
/// In seconds by the clock.
double wall_time(const WalkBounds& bounds);

/// See packhorse/walk.h.
class WalkerPool {
 public:
  explicit WalkerPool(std::vector<std::string> command) : command_(std::move(command)) {}
  /// As Walker::run().
  WalkEnd run(const WalkTask& task, const WalkBounds& bounds, double wall_s, const WalkLines& lines,
              const std::stop_token& stop);

 private:
  const std::vector<std::string> command_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Walker>> idle_;
};

}  // namespace packhorse
