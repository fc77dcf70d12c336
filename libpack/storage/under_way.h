#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <utility>

namespace packhorse {

/// Requests under way, for a caller that keeps some going at once. Shared with those that end.
/// Thread-safe.
class UnderWay {
 public:
  void begin() {
    const std::scoped_lock lock(mutex_);
    ++requests_;
  }
  void end(std::exception_ptr error) {
    const std::scoped_lock lock(mutex_);
    --requests_;
    if (!error_) error_ = std::move(error);
    ended_.notify_all();
  }
  /// Waits until at most `most` are under way. False when one has failed.
  bool wait_for(std::size_t most) {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return requests_ <= most; });
    return !error_;
  }
  /// Waits for all, and throws the first error. What they work on is theirs until then.
  void finish() {
    if (!wait_for(0)) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t requests_ = 0;
  std::exception_ptr error_;
};

}  // namespace packhorse
