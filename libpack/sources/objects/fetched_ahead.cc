#include "sources/objects/fetched_ahead.h"

#include <utility>

namespace packhorse {

/// Under the mutex: drops what has waited longest until there is room, as nobody may take it: its
/// reader may have been here before.
void FetchedAhead::make_room(std::uint64_t bytes) {
  while (bytes_ + bytes > most_ && !order_.empty()) {
    const auto found = files_.find(order_.front());
    order_.pop_front();
    if (found == files_.end() || !found->second.there) continue;  // taken meanwhile
    bytes_ -= found->second.content.size();
    files_.erase(found);
  }
}

void FetchedAhead::fetch(std::uint64_t number, std::uint64_t bytes,
                         const std::function<std::string()>& get) {
  {
    const std::scoped_lock lock(mutex_);
    if (passed_.erase(number) > 0 || files_.contains(number)) return;
    make_room(bytes);
    if (bytes_ + bytes > most_) return;  // all of it is on its way
    files_.try_emplace(number);
    bytes_ += bytes;
  }
  std::string content;
  bool came = false;
  try {
    content = get();
    came = content.size() == bytes;
  } catch (...) {  // NOLINT(bugprone-empty-catch): see above
  }
  const std::scoped_lock lock(mutex_);
  if (came) {
    files_[number] = {std::move(content), true};
    order_.push_back(number);
  } else {
    files_.erase(number);
    bytes_ -= bytes;
  }
  arrived_.notify_all();
}

bool FetchedAhead::take(std::uint64_t number, std::string& out) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] {
    const auto found = files_.find(number);
    return found == files_.end() || found->second.there;
  });
  const auto found = files_.find(number);
  if (found == files_.end()) {
    passed_.insert(number);
    return false;
  }
  out = std::move(found->second.content);
  files_.erase(found);
  bytes_ -= out.size();
  return true;
}

}  // namespace packhorse
