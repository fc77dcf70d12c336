#pragma once

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "packhorse/base/bytes.h"

/// Files as packhorse needs them: whole reads, positioned reads, and writes that become visible
/// only when they are complete and on the disk. Every function throws Error with the path in it.
namespace packhorse {

/// Owns a file descriptor. Move-only.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { reset(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// Whether a text begins like a URL ("scheme://"), of any scheme.
bool is_url(std::string_view text);
/// Throws Error(kUsage) for a URL ("s3://bucket/x"). So does everything below that opens or creates
/// a file: a URL used as a path would make local folders of that name.
void refuse_url(std::string_view path);

/// Repeats a system call as long as a signal interrupts it (EINTR).
template <class Call>
auto uninterrupted(const Call& call) {
  while (true) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

/// open(2) and openat(2) with O_CLOEXEC, repeated when a signal interrupts them, as it may on
/// network and FUSE file systems. When they fail, they return nothing and leave errno set.
UniqueFd open_file(const std::filesystem::path& path, int flags, unsigned mode = 0666);
UniqueFd open_at(int directory, const char* name, int flags);

/// Opens for reading. Throws Error(kNotFound | kIo).
UniqueFd open_for_reading(const std::filesystem::path& path);

/// Size in bytes of an open file.
std::uint64_t file_size(int fd, const std::filesystem::path& path);

/// Fills `out` from `offset` (pread, repeated as needed). Any thread. Throws Error(kCorrupt) when
/// the file ends before `out` is full: a file that is truncated while it is open is an error with
/// its name, never a short read.
void read_exactly(int fd, std::uint64_t offset, std::span<std::byte> out,
                  const std::filesystem::path& path);

/// Writes all of `bytes` at `offset` (pwrite, repeated as needed). Any thread.
void write_exactly(int fd, std::uint64_t offset, Bytes bytes, const std::filesystem::path& path);

/// Writes all of `bytes` where `fd` stands (write, repeated as needed).
void append_exactly(int fd, Bytes bytes, const std::filesystem::path& path);

/// The whole file.
std::vector<std::byte> read_file(const std::filesystem::path& path);
std::string read_text(const std::filesystem::path& path);

/// A new file with a temporary name beside `path` until it is published. Removed if it is destroyed
/// before that. One thread.
class TemporaryFile {
 public:
  /// Throws Error(kIo | kNoSpace | kNotFound).
  explicit TemporaryFile(std::filesystem::path path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int fd() const { return fd_.get(); }
  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& name() const { return name_; }
  /// Publish as publish_file() and publish_file_hashed() do. One of them is the last call.
  void publish();
  std::string publish_hashed();

 private:
  std::filesystem::path path_, name_;
  UniqueFd fd_;
};

/// A file being written: bytes go to a temporary name beside `path`; `commit()` syncs it, renames
/// it to `path` and syncs the directory. Destroyed without commit(), it removes the temporary file.
/// The kernel is asked to write to the disk as the bytes come, so that the sync at the end is
/// short. One thread.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);

  /// Appends, buffered.
  void write(Bytes bytes);
  /// Bytes written so far, buffered ones included.
  std::uint64_t position() const { return flushed_ + buffer_.size(); }
  void flush();
  void commit();

  int fd() const { return file_.fd(); }
  const std::filesystem::path& temporary() const { return file_.name(); }

 private:
  TemporaryFile file_;
  std::vector<std::byte> buffer_;
  std::uint64_t flushed_ = 0;
  std::uint64_t written_back_ = 0;  ///< up to where the kernel was asked to write to the disk
};

/// Asks the kernel to write the file's bytes [begin, end) to the disk, without waiting for it. Only
/// a hint: whether it worked shows at the sync.
void start_write_back(int fd, std::uint64_t begin, std::uint64_t end);

/// A temporary name for a file until it is complete. It differs each time, so that several
/// processes and threads may write the same file at once; the last to finish wins.
std::filesystem::path temporary_name(const std::filesystem::path& path);

/// Writes a small file as AtomicFile does.
void write_file(const std::filesystem::path& path, Bytes bytes);

/// Writes a new file in place, unsynced: for files inside a directory that is synced and renamed as
/// a whole.
void write_plain_file(const std::filesystem::path& path, Bytes bytes);

/// A file without a name, in memory, that holds these bytes. `shown` stands for it in messages.
/// Throws Error(kIo).
UniqueFd unnamed_file(Bytes bytes, const std::filesystem::path& shown);

/// Copies a file to `to`, replacing what is there; unsynced.
void copy_over(const std::filesystem::path& from, const std::filesystem::path& to);

/// Syncs the whole file system of the open file or directory `fd`. Errors since `fd` was opened are
/// thrown here: open it before writing.
void sync_filesystem(int fd, const std::filesystem::path& path);

/// fsync of an already written file, or of a directory (so that a rename in it survives a crash).
void sync_path(const std::filesystem::path& path);
void sync_file(int fd, const std::filesystem::path& path);

/// Syncs `from`, renames it to `to`, and syncs the directory of `to`.
void publish_file(const std::filesystem::path& from, const std::filesystem::path& to);
/// The same, and returns its SHA-256, computed while the disk works.
std::string publish_file_hashed(const std::filesystem::path& from, const std::filesystem::path& to);

/// rename(2) that never replaces: throws Error(kExists) if `to` is there.
void rename_no_replace(const std::filesystem::path& from, const std::filesystem::path& to);
/// Swaps two existing paths in one step.
void rename_exchange(const std::filesystem::path& a, const std::filesystem::path& b);

/// The entries of a directory, and those of the whole tree below it, each after the directory that
/// holds it. Otherwise unordered. Throws Error(kNotFound | kIo).
std::vector<std::filesystem::directory_entry> entries_in(const std::filesystem::path& directory);
std::vector<std::filesystem::directory_entry> entries_below(const std::filesystem::path& directory);

/// rm -rf. Throws Error(kIo).
void remove_tree(const std::filesystem::path& path);

/// A new directory below `place`, or below the system's for temporary files where that is empty.
/// Removed with all that is in it when it is destroyed; what cannot be removed stays.
class ScratchDirectory {
 public:
  /// `what` becomes a part of its name. Throws Error(kIo | kNoSpace | kNotFound).
  explicit ScratchDirectory(const std::string& what, const std::filesystem::path& place = {});
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// mkdir -p, even while others remove what it makes. Throws Error(kIo | kNoSpace | kNotFound).
void make_directories(const std::filesystem::path& path);

}  // namespace packhorse
