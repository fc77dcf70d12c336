#include "sources/objects/fetched_ahead.h"

#include <chrono>
#include <utility>

namespace packhorse {

namespace {

constexpr std::chrono::milliseconds kMoment{500};

}  // namespace

void FetchedAhead::fetch(std::uint64_t number, std::uint64_t bytes,
                         const std::function<std::vector<std::byte>()>& get) {
  {
    std::unique_lock lock(mutex_);
    in_use_ = true;
    if (passed_.erase(number) > 0 || files_.contains(number)) return;
    const auto has_room = [&] { return bytes <= most_ && bytes_ <= most_ - bytes; };
    // Where nothing was taken for a moment, it is not waited for again until something is.
    if (!has_room() && stuck_) return;
    if (!changed_.wait_for(lock, kMoment, has_room)) {
      stuck_ = true;
      return;
    }
    if (!files_.try_emplace(number).second) return;
    bytes_ += bytes;
  }
  std::vector<std::byte> content;
  bool came = false;
  try {
    content = get();
    came = content.size() == bytes;
  } catch (...) {  // NOLINT(bugprone-empty-catch): see above
  }
  const std::scoped_lock lock(mutex_);
  if (came) {
    files_[number] = {std::move(content), true};
  } else {
    files_.erase(number);
    bytes_ -= bytes;
  }
  changed_.notify_all();
}

bool FetchedAhead::take(std::uint64_t number, std::vector<std::byte>& out) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    const auto found = files_.find(number);
    return found == files_.end() || found->second.there;
  });
  const auto found = files_.find(number);
  if (found == files_.end()) {
    if (in_use_) passed_.insert(number);
    return false;
  }
  out = std::move(found->second.content);
  files_.erase(found);
  bytes_ -= out.size();
  stuck_ = false;
  changed_.notify_all();
  return true;
}

}  // namespace packhorse
