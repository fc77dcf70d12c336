#pragma once

#include <filesystem>

#include "packhorse/base/bytes.h"

namespace packhorse {

/// A whole file, mapped read-only: its bytes without a copy. Thread-safe; views live as long as the
/// object.
///
/// Touching a mapped page that the file no longer has, or that the disk cannot read, raises SIGBUS,
/// which would end the program. The first MappedFile of a process therefore installs a handler that
/// replaces such a page with zeros and records it: see truncated(). A SIGBUS at any other address
/// goes to the handler that was there before. It also installs fork handlers (pthread_atfork),
/// which hold its mutex over a fork(). Where other code may install a handler of its own later
/// (faulthandler, the workers of PyTorch's DataLoader), call arm() before touching bytes.
class MappedFile {
 public:
  MappedFile() = default;
  /// Throws Error(kNotFound | kIo).
  explicit MappedFile(const std::filesystem::path& path);
  /// Maps an open file, which may be closed afterwards; `path` is for messages. `written`: others
  /// write into it while it is mapped, and their bytes become visible; not all file systems can do
  /// that.
  MappedFile(int fd, const std::filesystem::path& path, bool written = false);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  Bytes bytes() const { return bytes_; }

  /// Puts packhorse's handler in front of one installed since the last MappedFile was made. That
  /// one then gets all other faults. Takes a system call. Thread-safe; also in a forked child.
  static void arm();

  /// True once a page could not be read: the file has been truncated since it was mapped, or its
  /// disk fails. bytes() shows zeros there. If it returns false, all bytes read before this call
  /// are right; for the last page of the file, only after watch_end().
  bool truncated() const;
  /// From then on truncated() also notices a cut inside the last page: it looks each time at the
  /// file's last byte that is not zero.
  void watch_end();
  /// Asks the kernel to load a range into memory, without waiting for it. A hint.
  void will_need(ByteRange range) const;
  /// Gives back the pages that were touched, so that the kernel is free to drop them from its
  /// cache. The bytes stay readable.
  void release() const;

 private:
  struct Region;
  friend struct Regions;
  Bytes bytes_;
  Region* region_ = nullptr;
  const std::byte* end_mark_ = nullptr;  ///< of a watched file: its last byte that is not zero
};

}  // namespace packhorse
