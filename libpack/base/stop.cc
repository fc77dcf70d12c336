#include "base/stop.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using OtherCopy = std::stop_token (*)();

thread_local const std::stop_token* current = nullptr;

std::array<std::atomic<OtherCopy>, 4> other_copies{};

/// Requests `over` after `most`, unless `ended` is requested before.
void end_after(const std::stop_token& ended, std::chrono::milliseconds most,
               std::stop_source over) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, ended, most, [] { return false; });
  if (!ended.stop_requested()) over.request_stop();
}

}  // namespace

StopScope::StopScope(std::stop_token stop) : stop_(std::move(stop)), before_(current) {
  if (stop_.stop_possible()) current = &stop_;
}

StopScope::~StopScope() { current = before_; }

std::stop_token current_stop() {
  if (current != nullptr) return *current;
  for (const std::atomic<OtherCopy>& copy : other_copies) {
    const OtherCopy ask = copy.load(std::memory_order_acquire);
    if (ask == nullptr) break;
    if (std::stop_token stop = ask(); stop.stop_possible()) return stop;
  }
  return {};
}

void obey_stop() {
  const bool stopped =
      current != nullptr ? current->stop_requested() : current_stop().stop_requested();
  if (stopped) throw Error(ErrorKind::kInterrupted, "stopped on request");
}

StopGrace::StopGrace(std::chrono::milliseconds most)
    : on_stop_(asked_, [this, most] {
        try {
          timer_ = std::jthread(end_after, most, over_);
        } catch (const std::system_error&) {  // no thread: then it takes as long as it takes
        }
      }) {}

void add_stop_of_other_copy(OtherCopy other) {
  for (std::atomic<OtherCopy>& copy : other_copies) {
    OtherCopy none = nullptr;
    if (copy.compare_exchange_strong(none, other) || none == other) return;
  }
}

}  // namespace packhorse
