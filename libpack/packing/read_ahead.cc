#include "packing/read_ahead.h"

#include <algorithm>

namespace packhorse {

namespace {

constexpr std::size_t kThreads = 16;  // reads in flight
constexpr std::size_t kChunk = 32;
constexpr std::size_t kQuiet = 8;  // chunks in memory; the rest is then assumed to be, too

}  // namespace

ReadAhead::~ReadAhead() {
  stop();
  for (std::thread& thread : threads_) thread.join();
}

void ReadAhead::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

void ReadAhead::want(std::shared_ptr<const SplitListing> split, std::vector<std::size_t> entries) {
  auto window = std::make_shared<Window>();
  window->split = std::move(split);
  window->entries = std::move(entries);
  const EntryTable& table = window->split->entries;
  std::ranges::sort(window->entries, [&](std::size_t a, std::size_t b) {
    return table.facts(a).locator < table.facts(b).locator;
  });
  const std::scoped_lock lock(mutex_);
  if (threads_.empty()) {
    for (std::size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this] { loop(); });
  }
  windows_.push_back(std::move(window));
  changed_.notify_one();
}

void ReadAhead::loop() {
  const StopScope scope(stop_);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !windows_.empty(); });
    if (ending_) return;
    const std::shared_ptr<Window> window = windows_.front();
    const std::size_t begin = window->next;
    const std::size_t end = std::min(begin + kChunk, window->entries.size());
    window->next = end;
    // A window has only one thread while its first chunk is tried; then all threads help, or none
    // does.
    if (!window->tried || end == window->entries.size() || window->quiet >= kQuiet)
      windows_.pop_front();
    lock.unlock();
    bool slow = false;
    try {
      for (std::size_t i = begin; i < end; ++i)
        slow = source_.prefetch(*window->split, window->entries[i]) || slow;
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the read itself will say it
    }
    lock.lock();
    window->quiet = slow ? 0 : window->quiet + 1;
    if (!window->tried && slow && end < window->entries.size()) {
      window->tried = true;
      windows_.push_front(window);
      changed_.notify_all();
    }
  }
}

}  // namespace packhorse
