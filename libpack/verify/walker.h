#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/file.h"
#include "packhorse/walk.h"
#include "verify/walk_protocol.h"

namespace packhorse {

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
  WalkEnd run(const WalkTask& task, const WalkBounds& bounds, double wall_s,
              const std::function<void(const WalkFinding&)>& report, const std::stop_token& stop);

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

/// See packhorse/walk.h.
class WalkerPool {
 public:
  explicit WalkerPool(std::vector<std::string> command) : command_(std::move(command)) {}
  /// As Walker::run().
  WalkEnd run(const WalkTask& task, const WalkBounds& bounds, double wall_s,
              const std::function<void(const WalkFinding&)>& report, const std::stop_token& stop);

 private:
  const std::vector<std::string> command_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Walker>> idle_;
};

}  // namespace packhorse
