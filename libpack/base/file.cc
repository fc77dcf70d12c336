#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <future>
#include <random>
#include <thread>
#include <utility>

#include "base/paths.h"
#include "base/stop.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kWriteBuffer = 1u << 20, kCopiedAtOnce = 8u << 20;
constexpr std::uint64_t kWriteBackStep = 8u << 20;

}  // namespace

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

bool is_url(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon < 2) return false;
  const std::string_view scheme = text.substr(0, colon);
  return std::ranges::all_of(scheme, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
  });
}

void refuse_url(std::string_view path) {
  if (!is_url(path)) return;
  throw Error(ErrorKind::kUsage,
              "'" + std::string(path) + "' is a URL; only files can be read and written", {},
              "copy it to a disk, or mount it; if a folder really has this name, write ./" +
                  std::string(path));
}

UniqueFd open_file(const fs::path& path, int flags, unsigned mode) {
  return UniqueFd(
      uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode_t{mode}); }));
}

UniqueFd open_at(int directory, const char* name, int flags) {
  return UniqueFd(uninterrupted([&] { return ::openat(directory, name, flags | O_CLOEXEC); }));
}

UniqueFd open_for_reading(const fs::path& path) {
  refuse_url(path.native());
  UniqueFd fd = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!fd) throw_errno("open", path);
  return fd;
}

std::uint64_t file_size(int fd, const fs::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw_errno("stat", path);
  return static_cast<std::uint64_t>(status.st_size);
}

void read_exactly(int fd, std::uint64_t offset, std::span<std::byte> out, const fs::path& path) {
  while (!out.empty()) {
    const ssize_t n = uninterrupted(
        [&] { return ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset)); });
    if (n < 0) throw_errno("read", path);
    if (n == 0) {
      throw Error(
          ErrorKind::kCorrupt,
          "the file ends at byte " + std::to_string(offset) + ", before the data it should hold",
          path, "it is truncated: restore it from a copy, or pack again");
    }
    out = out.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

void write_exactly(int fd, std::uint64_t offset, Bytes bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = uninterrupted(
        [&] { return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (n < 0) throw_errno("write to", path);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

void append_exactly(int fd, Bytes bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = uninterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (n < 0) throw_errno("write to", path);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

std::vector<std::byte> read_file(const fs::path& path) {
  const UniqueFd fd = open_for_reading(path);
  std::vector<std::byte> bytes(file_size(fd.get(), path));
  read_exactly(fd.get(), 0, bytes, path);
  return bytes;
}

std::string read_text(const fs::path& path) { return std::string(as_text(read_file(path))); }

fs::path temporary_name(const fs::path& path) {
  std::random_device random;
  char suffix[24];
  std::snprintf(suffix, sizeof suffix, ".%08x%08x.tmp", random(), random());
  return fs::path(path.native() + suffix);
}

void start_write_back(int fd, std::uint64_t begin, std::uint64_t end) {
  ::sync_file_range(fd, static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                    SYNC_FILE_RANGE_WRITE);
}

TemporaryFile::TemporaryFile(fs::path path) : path_(std::move(path)), name_(temporary_name(path_)) {
  refuse_url(path_.native());
  fd_ = open_file(name_, O_RDWR | O_CREAT | O_EXCL);
  if (!fd_) throw_errno("create", path_);
}

TemporaryFile::~TemporaryFile() {
  if (fd_) ::unlink(name_.c_str());
}

void TemporaryFile::publish() {
  publish_file(name_, path_);
  fd_.reset();
}

std::string TemporaryFile::publish_hashed() {
  std::string sum = publish_file_hashed(name_, path_);
  fd_.reset();
  return sum;
}

AtomicFile::AtomicFile(fs::path path) : file_(std::move(path)) { buffer_.reserve(kWriteBuffer); }

void AtomicFile::write(Bytes bytes) {
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min(bytes.size(), kWriteBuffer - buffer_.size()));
    buffer_.insert(buffer_.end(), piece.begin(), piece.end());
    if (buffer_.size() == kWriteBuffer) flush();
    bytes = bytes.subspan(piece.size());
  }
}

void AtomicFile::flush() {
  append_exactly(file_.fd(), buffer_, file_.path());
  flushed_ += buffer_.size();
  if (flushed_ - written_back_ >= kWriteBackStep) {
    start_write_back(file_.fd(), written_back_, flushed_);
    written_back_ = flushed_;
  }
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  file_.publish();
}

void write_file(const fs::path& path, Bytes bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_plain_file(const fs::path& path, Bytes bytes) {
  UniqueFd fd = open_file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (!fd) throw_errno("create", path);
  append_exactly(fd.get(), bytes, path);
  // Network file systems may report a full disk only here.
  if (::close(fd.release()) != 0 && errno != EINTR) throw_errno("write to", path);
}

UniqueFd unnamed_file(Bytes bytes, const fs::path& shown) {
  UniqueFd fd(::memfd_create("packhorse", MFD_CLOEXEC));
  if (!fd) throw_errno("hold in memory", shown);
  write_exactly(fd.get(), 0, bytes, shown);
  return fd;
}

void copy_over(const fs::path& from, const fs::path& to) {
  const UniqueFd in = open_for_reading(from);
  const UniqueFd out = open_file(to, O_WRONLY | O_CREAT | O_TRUNC);
  if (!out) throw_errno("create", to);
  while (true) {
    obey_stop();
    const ssize_t n =
        uninterrupted([&] { return ::sendfile(out.get(), in.get(), nullptr, kCopiedAtOnce); });
    if (n == 0) return;
    if (n < 0) break;
  }
  // Some file systems have no sendfile(). Both files stand behind what it has copied.
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) throw_errno("copy to", to);
  std::vector<std::byte> piece(kCopiedAtOnce);
  while (true) {
    obey_stop();
    const ssize_t n = uninterrupted([&] { return ::read(in.get(), piece.data(), piece.size()); });
    if (n < 0) throw_errno("read", from);
    if (n == 0) return;
    append_exactly(out.get(), Bytes(piece).first(static_cast<std::size_t>(n)), to);
  }
}

void sync_filesystem(int fd, const fs::path& path) {
  if (uninterrupted([&] { return ::syncfs(fd); }) != 0) throw_errno("sync", path);
}

void sync_path(const fs::path& path) {
  const UniqueFd fd = open_for_reading(path);
  sync_file(fd.get(), path);
}

void sync_file(int fd, const fs::path& path) {
  if (uninterrupted([&] { return ::fsync(fd); }) != 0) throw_errno("sync", path);
}

std::string publish_file_hashed(const fs::path& from, const fs::path& to) {
  auto sum = std::async(std::launch::async, [&] { return sha256_file(from); });
  sync_path(from);
  std::string text = sum.get();
  publish_file(from, to);
  return text;
}

namespace {

/// Syncs the directory after a rename. The new name is in place even if this fails.
void sync_new_name(const fs::path& path) {
  try {
    sync_path(folder_around(path));
  } catch (const Error& error) {
    throw Error(error.kind(),
                std::string(error.what()) +
                    "; the renamed files are in place, but a power failure " +
                    "may undo the renames",
                path, "check the disk, and that the target is there, before the next command");
  }
}

}  // namespace

void publish_file(const fs::path& from, const fs::path& to) {
  sync_path(from);
  if (::rename(from.c_str(), to.c_str()) != 0) throw_errno("rename a file to", to);
  sync_new_name(to);
}

void rename_no_replace(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    sync_new_name(to);
    return;
  }
  if (errno == EEXIST || errno == ENOTEMPTY) {
    throw Error(ErrorKind::kExists, "the target already exists", to,
                "choose another name, or remove it first");
  }
  if (errno != EINVAL && errno != ENOSYS) throw_errno("rename a directory to", to);
  // Some network file systems lack RENAME_NOREPLACE. There, rename(2) still refuses a non-empty
  // target.
  if (fs::exists(fs::symlink_status(to))) {
    throw Error(ErrorKind::kExists, "the target already exists", to,
                "choose another name, or remove it first");
  }
  if (::rename(from.c_str(), to.c_str()) != 0) throw_errno("rename a directory to", to);
  sync_new_name(to);
}

void rename_exchange(const fs::path& a, const fs::path& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) != 0) {
    throw_errno("swap in place", b);
  }
  sync_new_name(b);
}

namespace {

/// Lists a directory with one of the standard library's iterators, and starts over when a signal
/// interrupts it.
template <class Iterator>
std::vector<fs::directory_entry> entries_by(const fs::path& directory) {
  while (true) {
    std::vector<fs::directory_entry> entries;
    std::error_code code;
    for (Iterator it(directory, code), end; !code && it != end; it.increment(code)) {
      obey_stop();
      entries.push_back(*it);
    }
    if (!code) return entries;
    if (code != std::errc::interrupted) throw_code(code, "list", directory);
  }
}

}  // namespace

std::vector<fs::directory_entry> entries_in(const fs::path& directory) {
  return entries_by<fs::directory_iterator>(directory);
}

std::vector<fs::directory_entry> entries_below(const fs::path& directory) {
  return entries_by<fs::recursive_directory_iterator>(directory);
}

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// Removes an entry of an open directory, and everything in it. A link is removed and never
/// followed, even if another process puts it there meanwhile.
void remove_at(int above, const char* name, const fs::path& path) {
  obey_stop();
  if (uninterrupted([&] { return ::unlinkat(above, name, 0); }) == 0 || errno == ENOENT) return;
  if (errno != EISDIR && errno != EPERM) throw_errno("remove", path);
  UniqueFd fd = open_at(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!fd) throw_errno("remove", path);
  const std::unique_ptr<DIR, CloseDirectory> directory(
      ::fdopendir(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)));
  if (!directory) throw_errno("list", path);
  for (errno = 0; const dirent* entry = ::readdir(directory.get()); errno = 0) {
    const std::string_view inside = entry->d_name;
    if (inside != "." && inside != "..") remove_at(fd.get(), entry->d_name, path / inside);
  }
  if (errno != 0) throw_errno("list", path);
  if (uninterrupted([&] { return ::unlinkat(above, name, AT_REMOVEDIR); }) != 0 && errno != ENOENT)
    throw_errno("remove", path);
}

}  // namespace

void remove_tree(const fs::path& path) { remove_at(AT_FDCWD, path.c_str(), path); }

void make_directories(const fs::path& path) {
  refuse_url(path.native());
  constexpr int kMostTries = 1000;
  std::error_code code;
  for (int tries = 0; tries < kMostTries; ++tries) {
    fs::create_directories(path, code);
    if (!code) return;
    // Another process may remove a directory between the check and the next step.
    std::error_code look;
    const bool removed =
        code == std::errc::no_such_file_or_directory ||
        (code == std::errc::file_exists &&
         (fs::is_directory(path, look) || !fs::exists(fs::symlink_status(path, look))));
    if (!removed) break;
    std::this_thread::sleep_for(std::chrono::microseconds(tries));  // two may work in step
  }
  throw_code(code, "create the directory", path);
}

ScratchDirectory::ScratchDirectory(const std::string& what, const fs::path& place) {
  const char* const given = ::getenv("TMPDIR");
  const fs::path system = given != nullptr && *given != '\0' ? given : "/tmp";
  std::string name =
      ((place.empty() ? system : place) / ("packhorse-" + what + "-XXXXXX")).native();
  if (::mkdtemp(name.data()) == nullptr) throw_errno("create a directory", name);
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  try {
    const StopGrace grace;
    remove_tree(path_);
  } catch (...) {  // NOLINT(bugprone-empty-catch): its name shows what it is
  }
}

}  // namespace packhorse
