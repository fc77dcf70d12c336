#include "archive/archive_input.h"

#include <algorithm>

#include "archive/tar_header.h"
#include "base/stop.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

// libarchive refuses extended headers above 1 MiB; there may be several of them to a member.
constexpr std::size_t kMostKept = 16u << 20;
}  // namespace

Bytes ArchiveInput::peek(std::size_t n) {
  while (first_.size() < n) {
    const Bytes some = stream_->next();
    if (some.empty()) break;
    first_.insert(first_.end(), some.begin(), some.end());
  }
  peeked_ = !first_.empty();
  return first_;
}

int ArchiveInput::attach(archive* handle) {
  archive_read_set_callback_data(handle, this);
  archive_read_set_read_callback(handle, on_read);
  archive_read_set_skip_callback(handle, on_skip);
  return archive_read_open1(handle);
}

void ArchiveInput::rethrow() {
  if (failure_) std::rethrow_exception(failure_);
}

la_ssize_t ArchiveInput::on_read(archive* handle, void* self, const void** out) {
  auto& input = *static_cast<ArchiveInput*>(self);
  try {
    const Bytes some = input.give();
    *out = some.data();
    return static_cast<la_ssize_t>(some.size());
  } catch (...) {
    input.failure_ = std::current_exception();
    archive_set_error(handle, EIO, "reading failed");
    return -1;
  }
}

la_int64_t ArchiveInput::on_skip(archive*, void* self, la_int64_t n) {
  auto& input = *static_cast<ArchiveInput*>(self);
  if (n <= 0 || input.peeked_ || input.recording_) return 0;
  const std::uint64_t skipped = input.stream_->skip(static_cast<std::uint64_t>(n));
  if (skipped > 0) {
    input.block_begin_ += input.block_.size() + skipped;
    input.block_ = {};
  }
  return static_cast<la_int64_t>(skipped);
}

Bytes ArchiveInput::give() {
  obey_stop();
  if (recording_) keep_block();
  block_begin_ += block_.size();
  if (peeked_) {
    peeked_ = false;
    return block_ = first_;
  }
  return block_ = stream_->next();
}

void ArchiveInput::keep_block() {
  const std::uint64_t skip = kept_begin_ + kept_.size() - block_begin_;
  const Bytes more = block_.subspan(std::min<std::size_t>(skip, block_.size()));
  if (kept_.empty() && more.size() % kTarBlock == 0 && all_zero(more)) {
    kept_begin_ += more.size();  // the end mark, or padding after it
    return;
  }
  if (kept_.size() + more.size() > kMostKept)
    throw Error(ErrorKind::kCorrupt, "its headers are too long for one member");
  kept_.insert(kept_.end(), more.begin(), more.end());
}

void ArchiveInput::record(std::uint64_t from) {
  kept_.clear();
  kept_begin_ = from;
  recording_ = true;
}

Bytes ArchiveInput::recorded(std::uint64_t to) {
  recording_ = false;
  const std::uint64_t block_end = block_begin_ + block_.size();
  if (to < kept_begin_ || to > block_end) return {};
  if (kept_.empty() && kept_begin_ >= block_begin_) {
    return block_.subspan(kept_begin_ - block_begin_, to - kept_begin_);
  }
  const std::uint64_t kept_end = kept_begin_ + kept_.size();
  if (to > kept_end) {
    const Bytes more = block_.subspan(kept_end - block_begin_, to - kept_end);
    kept_.insert(kept_.end(), more.begin(), more.end());
  }
  return Bytes(kept_).first(to - kept_begin_);
}

}  // namespace packhorse
