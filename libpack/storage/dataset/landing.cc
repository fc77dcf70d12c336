#include "storage/dataset/landing.h"

#include <utility>

namespace packhorse {

Landing::Landing() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

Landing::~Landing() = default;

void Landing::add(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(work));
  }
  given_.notify_one();
}

void Landing::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (given_.wait(lock, stop, [&] { return !queue_.empty(); }) || !queue_.empty()) {
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace packhorse
