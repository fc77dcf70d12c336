#include "stream_hash.h"

namespace packhorse {

StreamHash::StreamHash() : thread_([this] { loop(); }) {}

StreamHash::~StreamHash() {
  if (thread_.joinable()) finish();
}

std::vector<std::byte> StreamHash::update(std::vector<std::byte> buffer) {
  std::vector<std::byte> next;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return in_use_ < kBuffers; });
    waiting_.push(std::move(buffer));
    ++in_use_;
    if (!free_.empty()) {
      next = std::move(free_.back());
      free_.pop_back();
    }
  }
  changed_.notify_all();
  return next;
}

std::string StreamHash::finish() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
  return hash_.finish();
}

void StreamHash::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::vector<std::byte> buffer = std::move(waiting_.front());
    waiting_.pop();
    lock.unlock();
    hash_.update(buffer);
    lock.lock();
    free_.push_back(std::move(buffer));
    --in_use_;
    changed_.notify_all();
  }
}

}  // namespace packhorse
