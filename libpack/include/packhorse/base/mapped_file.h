#pragma once

#include <filesystem>

#include "packhorse/base/bytes.h"

namespace packhorse {

/// A file mapped read-only, whole: its bytes without a copy. Thread-safe; views live as long as the
/// object.
///
/// Touching a mapped page that its file no longer has, or that the disk cannot read, raises SIGBUS,
/// which ends a program. Not here: the first MappedFile of a process installs a handler that puts
/// zeros in the place of such a page and remembers it, see truncated(). A SIGBUS for any other
/// address goes on to the handler that was there before. A program that installs a handler of its
/// own later must hand on what it does not know, as this one does.
class MappedFile {
 public:
  MappedFile() = default;
  /// Throws Error(kNotFound | kIo).
  explicit MappedFile(const std::filesystem::path& path);
  /// Of an open file, which may be closed then; `path` is for messages.
  MappedFile(int fd, const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  Bytes bytes() const { return bytes_; }

  /// True once a page was wanted that could not be had: the file has been cut since it was mapped,
  /// or its disk fails. What bytes() shows there is zeros.
  bool truncated() const;
  /// Asks the kernel to bring a range into memory, without waiting for it. A hint.
  void will_need(ByteRange range) const;
  /// Gives back the pages that were touched, so that the kernel is free to drop them from its
  /// cache. The bytes stay readable.
  void release() const;

 private:
  struct Region;
  friend struct Regions;
  Bytes bytes_;
  Region* region_ = nullptr;
};

}  // namespace packhorse
