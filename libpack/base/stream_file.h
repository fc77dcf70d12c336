#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_thread.h"
#include "packhorse/base/file.h"

namespace packhorse {

/// A file written from front to back at the disk's speed: as AtomicFile it is there only after
/// commit(), but its bytes are written and its SHA-256 is computed by two threads of its own, 2 MiB
/// at a time. Where the file system can (O_DIRECT), whole pieces go past the page cache: nothing is
/// copied there, and nothing else is driven out of it. Memory: 10 MiB. One thread.
class StreamFile {
 public:
  /// Whether what is written first is what it shall be at the end.
  enum class Front {
    kFinal,        ///< most likely: the hash is computed while the file is written
    kProvisional,  ///< surely not: the file goes through the page cache and is read for its hash
  };
  /// Throws Error(kIo | kNoSpace).
  explicit StreamFile(std::filesystem::path path, Front front = Front::kFinal);
  /// Appends. Throws what an earlier piece met, too.
  void write(Bytes bytes);
  /// Bytes appended so far.
  std::uint64_t position() const { return offset_ + filled_; }
  /// Puts other bytes in the place of some that were written. The file is then read again for its
  /// hash, at the end.
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
  std::uint64_t offset_ = 0;               ///< of the buffer in the file
  std::size_t filled_ = 0;
  std::vector<Replacement> replacements_;
  std::optional<ByteThread> hasher_, writer_;  ///< last: they end before what they use; the hasher
                                               ///< may be none
};

}  // namespace packhorse
