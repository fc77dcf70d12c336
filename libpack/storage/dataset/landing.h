#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace packhorse {

/// A thread that deals with what has arrived: checks it and writes it, which a thread of the
/// network must not wait for.
class Landing {
 public:
  Landing();
  ~Landing();  ///< works off what it was given; not in its own thread
  /// `work` must not throw. Thread-safe.
  void add(std::function<void()> work);

 private:
  void run(const std::stop_token& stop);
  std::mutex mutex_;
  std::condition_variable_any given_;
  std::deque<std::function<void()>> queue_;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace packhorse
