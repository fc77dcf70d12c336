#include "packhorse/base/stop.h"

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

/// Waits for a stop, then as long as is granted, then requests `over`.
void wait_for_end(const std::stop_token& ended, const std::stop_token& asked, std::stop_source over,
                  std::chrono::milliseconds most) {
  std::mutex mutex;
  std::condition_variable_any changed;
  const std::stop_callback wake(asked, [&] {
    const std::lock_guard lock(mutex);
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, ended, [&] { return asked.stop_requested(); });
  changed.wait_for(lock, ended, most, [] { return false; });
  if (!ended.stop_requested()) over.request_stop();
}

/// No thread where none is needed, nor where none can be started: what tidies up then takes as long
/// as it takes.
std::jthread start_timer(const std::stop_token& asked, const std::stop_source& over,
                         std::chrono::milliseconds most) {
  if (!asked.stop_possible()) return {};
  try {
    return std::jthread(wait_for_end, asked, over, most);
  } catch (const std::system_error&) {
    return {};
  }
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

StopGrace::StopGrace(std::chrono::milliseconds most) : timer_(start_timer(asked_, over_, most)) {}

void add_stop_of_other_copy(OtherCopy other) {
  for (std::atomic<OtherCopy>& copy : other_copies) {
    OtherCopy none = nullptr;
    if (copy.compare_exchange_strong(none, other) || none == other) return;
  }
}

}  // namespace packhorse
