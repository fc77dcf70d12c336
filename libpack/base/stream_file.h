#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_thread.h"
#include "base/file.h"

namespace packhorse {

/// A file written from front to back at the disk's speed. Like AtomicFile, it appears only at
/// commit(), but two threads of its own write its bytes and compute its SHA-256, 2 MiB at a time.
/// Where the file system supports it (O_DIRECT), whole pieces bypass the page cache: nothing is
/// copied into it, and nothing else is evicted from it. Memory: 10 MiB. One thread.
class StreamFile {
 public:
  /// Whether the first bytes written are also the final ones.
  enum class Front {
    kFinal,        ///< most likely; the hash is computed while the file is written
    kProvisional,  ///< surely not; the file goes through the page cache and is read for its hash
  };
  /// Throws Error(kIo | kNoSpace).
  explicit StreamFile(std::filesystem::path path, Front front = Front::kFinal);
  /// Appends. Also throws errors from writing earlier pieces.
  void write(Bytes bytes);
  /// Bytes appended so far.
  std::uint64_t position() const { return offset_ + filled_; }
  /// Overwrites bytes that were already written. The file is then read again for its hash, at the
  /// end.
  void replace(std::uint64_t offset, std::string bytes);
  /// Writes the rest, syncs, and gives the file its name. Returns its SHA-256.
  std::string commit();

 private:
  struct Replacement {
    std::uint64_t offset;
    std::string bytes;
  };
  void hand_on();
  void write_piece(const ByteThread::Piece& piece);

  TemporaryFile file_;
  UniqueFd direct_;
  Sha256 hash_;
  BufferPool pool_;
  std::shared_ptr<AlignedBuffer> buffer_;  ///< being filled
  std::uint64_t offset_ = 0;               ///< where the buffer goes in the file
  std::size_t filled_ = 0;
  std::vector<Replacement> replacements_;
  std::optional<ByteThread> hasher_, writer_;  ///< last, to end before what they use;
                                               ///< there may be no hasher
};

}  // namespace packhorse
