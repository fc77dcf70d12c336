#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "packhorse/base/bytes.h"

/// Locks of ranges of a file's bytes, as open file descriptions hold them (F_OFD_SETLK of Linux):
/// between processes, and between two openings of one file by the same process. A lock ends with
/// its description, and so with its process, whatever ends that. Locks are only advice: locked
/// bytes can be read and written, and need not exist.
///
/// A child made by fork() shares the descriptions of its parent, and with them the locks: what it
/// unlocks, its parent loses, and what its parent held when it died, it still holds.
namespace packhorse {

enum class LockKind : std::uint8_t { kShared, kAlone };

/// Takes or converts the lock without waiting. False when it is another description's. Throws
/// Error(kIo), as all of these do; `path` is for messages.
bool try_lock(int fd, ByteRange range, LockKind kind, const std::filesystem::path& path);
/// The same, waiting.
void wait_lock(int fd, ByteRange range, LockKind kind, const std::filesystem::path& path);
void unlock(int fd, ByteRange range) noexcept;

/// The parts of a range that other descriptions have locked, in no order.
std::vector<ByteRange> locks_of_others(int fd, ByteRange range, const std::filesystem::path& path);

/// Waits for a lock and holds it alone as long as it lives. The file must stay open meanwhile.
class HeldLock {
 public:
  HeldLock(int fd, ByteRange range, const std::filesystem::path& path) : fd_(fd), range_(range) {
    wait_lock(fd, range, LockKind::kAlone, path);
  }
  ~HeldLock() { unlock(fd_, range_); }
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;

 private:
  int fd_;
  ByteRange range_;
};

}  // namespace packhorse
