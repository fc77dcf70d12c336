#include "storage/dataset/memory_budget.h"

#include <utility>

namespace packhorse {

bool MemoryBudget::begin(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (ahead_ > 0 && ahead_ + bytes > most_) return false;
  ahead_ += bytes;
  return true;
}

void MemoryBudget::end(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  ahead_ -= bytes;
}

void MemoryBudget::add(std::uint64_t bytes, std::function<void()> drop) {
  std::list<Held> leaving;
  {
    const std::scoped_lock lock(mutex_);
    while (!held_.empty() && sum_ + bytes > most_) {
      sum_ -= held_.front().bytes;
      leaving.splice(leaving.end(), held_, held_.begin());
    }
    held_.push_back({bytes, std::move(drop)});
    sum_ += bytes;
  }
  for (const Held& one : leaving) one.drop();  // these take locks of their own
}

}  // namespace packhorse
