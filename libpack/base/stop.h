#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

/// How a stop reaches long work at any depth: loops over files, parsers and requests ask for the
/// stop of their thread. No token is passed down.
///
///     const StopScope scope(stop);      // in the function that was given `stop`
///     ...
///     obey_stop();                      // in a loop, ten calls below
namespace packhorse {

/// While it lives, this thread's work obeys `stop`, and so do the threads that run_parallel() and
/// requests to storages use for it. A token without a state changes nothing: the scope around it
/// stays. Scopes nest, and end in the reverse order, in the thread that made them.
class StopScope {
 public:
  explicit StopScope(std::stop_token stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const std::stop_token stop_;
  const std::stop_token* const before_;
};

/// What this thread's work obeys: a token without a state where nothing can stop it.
std::stop_token current_stop();

/// Throws Error(kInterrupted) when this thread's work is to stop. Costs a few nanoseconds: call it
/// for each file, row or block, so that at most about 100 ms pass between two calls. Do not call it
/// in destructors or while tidying up.
void obey_stop();

/// While it lives, this thread's work obeys no stop. For work that must be finished, such as a
/// training step and its checkpoint.
class StopExempt {
 private:
  const std::stop_source never_;
  const StopScope scope_{never_.get_token()};
};

/// For tidying up that may have to wait for others: while it lives, this thread's work obeys a stop
/// only `most` after it was requested, or after this object was made if that is later. Without a
/// stop it has all the time it needs.
class StopGrace {
 public:
  explicit StopGrace(std::chrono::milliseconds most = std::chrono::milliseconds(1000));

 private:
  const std::stop_token asked_ = current_stop();
  const std::stop_source over_;
  const StopScope scope_{over_.get_token()};
  std::jthread timer_;  ///< only once a stop is requested
  const std::stop_callback<std::function<void()>> on_stop_;
};

/// For a process that holds several copies of this library, as Python's does: asks `other`, the
/// current_stop() of another copy, where this copy knows of no stop. Thread-safe; the same one
/// again changes nothing.
void add_stop_of_other_copy(std::stop_token (*other)());

}  // namespace packhorse
