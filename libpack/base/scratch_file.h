#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>

#include "base/file.h"

namespace packhorse {

/// An unnamed file for data that does not fit into memory. It disappears with the object, or with
/// the process, also if that is killed. Nothing is made before the first byte is written.
/// Thread-safe.
class ScratchFile {
 public:
  /// `directory`: for the file, or the nearest one above it that exists; if empty, the system's
  /// directory for temporary files. `holds`: what it holds, for messages: "the list of samples".
  /// `advice`: what helps besides more space when the disk is full.
  ScratchFile(std::filesystem::path directory, std::string holds, std::string advice);

  /// Writes bytes behind all others and returns their offset; `more` follows `bytes`. Throws
  /// Error(kNoSpace | kIo) with the directory.
  std::uint64_t append(Bytes bytes, Bytes more = {});
  /// Throws Error(kIo).
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  /// Frees the disk space of bytes that are no longer needed. File systems that cannot do that free
  /// it with the file.
  void remove(std::uint64_t offset, std::uint64_t bytes);
  /// How many bytes have been written so far.
  std::uint64_t written() const { return end_; }

 private:
  std::filesystem::path directory_;
  const std::string holds_, advice_;
  const pid_t process_;  ///< a forked child's copy gives nothing back
  std::once_flag opened_;
  UniqueFd fd_;
  std::atomic<std::uint64_t> end_{0};
};

/// Opens a file without a name for reading and writing, which goes with its descriptor or with the
/// process, however that ends. It lies in `directory`, or in the nearest one above it that exists,
/// which `directory` then names; if empty, in the system's place for temporary files. Throws
/// Error(kIo) with the directory.
UniqueFd open_unnamed_file(std::filesystem::path& directory);

/// What time it is by the clock that stamps the files of a directory, which may be another
/// machine's: that of a file made there for a moment. Throws Error(kIo) where none can be made.
std::filesystem::file_time_type storage_time(std::filesystem::path directory);

}  // namespace packhorse
