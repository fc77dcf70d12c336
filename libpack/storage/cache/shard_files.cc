#include "storage/cache/shard_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "packhorse/base/error.h"
#include "storage/cache/byte_locks.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr int kMostOpenings = 10'000;  // one is lost when another process removes at that moment

Beneath runs_file(int folder, const fs::path& path, const std::string& sha256) {
  return {folder, sha256 + ".runs", path / (sha256 + ".runs")};
}

Beneath data_file(int folder, const fs::path& path, const std::string& sha256) {
  return {folder, sha256 + ".data", path / (sha256 + ".data")};
}

fs::path folder_path(const fs::path& path, std::string_view sha256) {
  return path / sha256.substr(0, 2);
}

bool is_own_directory(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_uid == ::geteuid();
}

/// For a name that could not be opened although it is there.
[[noreturn]] void refuse_unopened(const fs::path& path) {
  if (errno == ELOOP || errno == EISDIR || errno == ENXIO || errno == ENOTDIR) refuse_foreign(path);
  throw_errno("open", path);
}

std::optional<RunsHeader> header_in(int fd, const fs::path& path) {
  const std::uint64_t bytes = file_size(fd, path);
  std::vector<std::byte> begin(std::min<std::uint64_t>(bytes, kRunsHeaderBytes));
  read_exactly(fd, 0, begin, path);
  return parse_runs_header(begin, bytes);
}

void resize_file(int fd, std::uint64_t bytes, const fs::path& path) {
  if (uninterrupted([&] { return ::ftruncate(fd, static_cast<off_t>(bytes)); }) != 0)
    throw_errno("make room in", path);
}

/// Opens the data; false when it is missing or not of this size.
bool open_data(ShardFiles& files, std::uint64_t bytes) {
  files.data_fd = open_beneath(files.data, O_RDWR);
  if (!files.data_fd && errno == ENOENT) return false;
  if (!files.data_fd) refuse_unopened(files.data.path);
  if (!is_own_file(files.data_fd.get())) refuse_foreign(files.data.path);
  return file_size(files.data_fd.get(), files.data.path) == bytes;
}

void write_runs(const ShardFiles& files) {
  const int fd = files.runs_fd.get();
  const fs::path& path = files.runs.path;
  resize_file(fd, 0, path);
  // Zeros instead of a hole: so that noting a run needs no space.
  const std::vector<std::byte> zeros(std::min<std::size_t>(runs_of(files.header.bytes), 1u << 20));
  const std::uint64_t end = kRunsHeaderBytes + runs_of(files.header.bytes);
  for (std::uint64_t at = kRunsHeaderBytes; at < end; at += zeros.size())
    write_exactly(fd, at, Bytes(zeros).first(std::min<std::uint64_t>(zeros.size(), end - at)),
                  path);
  write_exactly(fd, 0, runs_header_bytes(files.header), path);
  sync_file(fd, path);
}

/// Replaces what is there: others may still read that (CachedFile::open_data()).
void make_data(ShardFiles& files) {
  if (is_own_file(files.data)) ::unlinkat(files.data.directory, files.data.name.c_str(), 0);
  files.data_fd = open_beneath(files.data, O_RDWR | O_CREAT | O_EXCL);
  if (!files.data_fd && errno == EEXIST) refuse_foreign(files.data.path);
  if (!files.data_fd) throw_errno("create", files.data.path);
  resize_file(files.data_fd.get(), files.header.bytes, files.data.path);
}

/// Follows rule 3.
void make_shard(ShardFiles& files) {
  const int fd = files.runs_fd.get();
  if (!try_lock(fd, kLease, LockKind::kAlone, files.runs.path)) {
    throw Error(ErrorKind::kIo,
                "a file of the cache is damaged, or has another size than it should have, and "
                "other processes are using it",
                files.runs.path,
                "wait until they have ended, or choose another directory for the cache");
  }
  write_runs(files);
  make_data(files);
  wait_lock(fd, kLease, LockKind::kShared, files.runs.path);
}

ShardFiles named_files(UniqueFd folder, const fs::path& path, const std::string& sha256) {
  ShardFiles files;
  files.folder = std::move(folder);
  const fs::path below = folder_path(path, sha256);
  files.runs = runs_file(files.folder.get(), below, sha256);
  files.data = data_file(files.folder.get(), below, sha256);
  return files;
}

/// Opens the .runs file by rule 2, makes what is missing, and leaves the lease. False: begin again.
bool try_to_open(ShardFiles& files, const std::string& sha256, std::uint64_t bytes) {
  files.runs_fd = open_beneath(files.runs, O_RDWR | O_CREAT);
  if (!files.runs_fd && errno == ENOENT) return false;
  if (!files.runs_fd) refuse_unopened(files.runs.path);
  const int fd = files.runs_fd.get();
  if (!is_own_file(fd)) {
    if (!leads_to(files.runs, fd)) return false;
    refuse_foreign(files.runs.path);
  }
  const HeldLock opening(fd, kOpening, files.runs.path);
  wait_lock(fd, kLease, LockKind::kShared, files.runs.path);
  if (!leads_to(files.runs, fd)) return false;
  const std::optional<RunsHeader> header = header_in(fd, files.runs.path);
  const bool fits = header && header->sha256 == sha256 && header->bytes == bytes;
  files.header = fits ? *header : RunsHeader{sha256, bytes, 0};
  if (!fits || !open_data(files, bytes)) make_shard(files);
  return true;
}

/// Whether the files of a leased name are there and fit each other.
bool is_whole(ShardFiles& files, const std::string& sha256) {
  if (!leads_to(files.runs, files.runs_fd.get())) return false;
  const std::optional<RunsHeader> header = header_in(files.runs_fd.get(), files.runs.path);
  if (!header || header->sha256 != sha256 || !is_own_file(files.data)) return false;
  files.header = *header;
  return open_data(files, header->bytes);
}

/// The runs that are there, by their bytes in the .runs file.
std::uint64_t stored_bytes(int fd, const RunsHeader& header, const fs::path& path) {
  std::vector<std::byte> there(runs_of(header.bytes));
  read_exactly(fd, kRunsHeaderBytes, there, path);
  std::uint64_t bytes = 0;
  for (std::size_t run = 0; run < there.size(); ++run)
    if (there[run] == std::byte{1}) bytes += run_range(header.bytes, run).length;
  return bytes;
}

std::uint64_t claimed_bytes(int fd, const RunsHeader& header, const fs::path& path) {
  std::uint64_t bytes = 0;
  const ByteRange runs{kRunsHeaderBytes, runs_of(header.bytes)};
  for (const ByteRange& locked : locks_of_others(fd, runs, path))
    for (std::uint64_t at = locked.offset; at < locked.end(); ++at)
      bytes += run_range(header.bytes, at - kRunsHeaderBytes).length;
  return bytes;
}

}  // namespace

UniqueFd open_folder(int directory, const fs::path& path, std::string_view sha256, bool make) {
  const Beneath folder{directory, std::string(sha256.substr(0, 2)), folder_path(path, sha256)};
  constexpr mode_t kMine = 0700;
  if (make && ::mkdirat(directory, folder.name.c_str(), kMine) != 0 && errno != EEXIST)
    throw_errno("create", folder.path);
  UniqueFd fd = open_beneath(folder, O_RDONLY | O_DIRECTORY);
  if (fd && is_own_directory(fd.get())) return fd;
  if (!make) return {};
  if (fd) refuse_foreign(folder.path);
  refuse_unopened(folder.path);
}

ShardFiles open_shard(int directory, const fs::path& path, const std::string& sha256,
                      std::uint64_t bytes) {
  for (int tries = 0; tries < kMostOpenings; ++tries) {
    ShardFiles files = named_files(open_folder(directory, path, sha256, true), path, sha256);
    if (try_to_open(files, sha256, bytes)) return files;
  }
  throw Error(ErrorKind::kIo, "a file of the cache keeps appearing and disappearing",
              folder_path(path, sha256), "choose another directory for the cache");
}

std::optional<ShardFiles> open_shard_if_there(int directory, const fs::path& path,
                                              const std::string& sha256) {
  UniqueFd folder = open_folder(directory, path, sha256, false);
  if (!folder) return std::nullopt;
  ShardFiles files = named_files(std::move(folder), path, sha256);
  files.runs_fd = open_beneath(files.runs, O_RDWR);
  if (!files.runs_fd || !is_own_file(files.runs_fd.get())) return std::nullopt;
  const int fd = files.runs_fd.get();
  const HeldLock opening(fd, kOpening, files.runs.path);
  if (!try_lock(fd, kLease, LockKind::kShared, files.runs.path)) return std::nullopt;
  if (is_whole(files, sha256)) return files;
  unlock(fd, kLease);  // before somebody else opens it, and wants it alone
  return std::nullopt;
}

std::optional<FoundShard> look_at_shard(int folder, const fs::path& path,
                                        const std::string& sha256) try {
  const Beneath runs = runs_file(folder, path, sha256), data = data_file(folder, path, sha256);
  const UniqueFd fd = open_beneath(runs, O_RDWR);
  if (!fd || !is_own_file(fd.get())) return std::nullopt;
  const std::optional<RunsHeader> header = header_in(fd.get(), runs.path);
  if (!header || header->sha256 != sha256) return std::nullopt;
  FoundShard found{*header, stored_bytes(fd.get(), *header, runs.path), 0, false};
  // Claims before blocks: a run that is written in between counts twice, and not at all otherwise.
  found.allocated = claimed_bytes(fd.get(), *header, runs.path);
  found.leased = !locks_of_others(fd.get(), kLease, runs.path).empty();
  struct stat status {};
  if (is_own_file(data) && ::fstatat(folder, data.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
    found.allocated += static_cast<std::uint64_t>(status.st_blocks) * 512;
  return found;
} catch (const Error& error) {
  if (error.kind() == ErrorKind::kCorrupt) return std::nullopt;  // it is being made anew
  throw;
}

/// Follows rule 4.
Removal remove_shard(int folder, const fs::path& path, const std::string& sha256) {
  const Beneath runs = runs_file(folder, path, sha256), data = data_file(folder, path, sha256);
  const UniqueFd fd = open_beneath(runs, O_RDWR);
  if (!fd || !is_own_file(fd.get())) return Removal::kNotThere;
  if (!try_lock(fd.get(), kLease, LockKind::kAlone, runs.path)) return Removal::kLeased;
  const std::optional<RunsHeader> header = header_in(fd.get(), runs.path);
  const bool ours = leads_to(runs, fd.get()) && header && header->sha256 == sha256;
  struct stat status {};
  const bool has_data =
      ::fstatat(folder, data.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
  Removal removal = Removal::kNotThere;
  if (ours && (!has_data || is_own_file(data))) {
    if (has_data && ::unlinkat(folder, data.name.c_str(), 0) != 0) throw_errno("remove", data.path);
    if (::unlinkat(folder, runs.name.c_str(), 0) != 0) throw_errno("remove", runs.path);
    removal = Removal::kRemoved;
  }
  unlock(fd.get(), kLease);
  return removal;
}

void note_use(const ShardFiles& files) {
  const std::int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
  write_exactly(files.runs_fd.get(), kUsedOffset, std::as_bytes(std::span(&now, 1)),
                files.runs.path);
}

}  // namespace packhorse
