#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "base/file.h"

namespace packhorse {

/// An unnamed temporary file for bytes whose origin can be read only once: they are first appended
/// one after the other, then read at random. It goes with the object or with the process, however
/// that ends.
///
///     Spool spool(directory);
///     const std::uint64_t at = spool.append(bytes);
///     spool.seal();
///     spool.read(at, out);
///
/// Appending is for one thread; after seal(), any thread may read. Memory: one write buffer.
class Spool {
 public:
  /// Uses `directory`, or the nearest one above it that exists; if empty, the system's place for
  /// temporary files. Nothing is made before append().
  explicit Spool(std::filesystem::path directory);

  /// Returns the offset of the first byte. Throws Error(kNoSpace | kIo) with the directory.
  std::uint64_t append(Bytes bytes);
  std::uint64_t size() const { return written_ + buffer_.size(); }
  /// Removes everything from `offset` on.
  void cut(std::uint64_t offset);
  /// Writes what is still in memory.
  void seal();

  void read(std::uint64_t offset, std::span<std::byte> out) const;
  /// The file, for posix_fadvise; -1 before the first append().
  int fd() const { return fd_.get(); }

 private:
  void flush();

  std::filesystem::path directory_;
  UniqueFd fd_;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = 0;
};

}  // namespace packhorse
