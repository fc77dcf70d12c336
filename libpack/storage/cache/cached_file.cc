#include "storage/cache/cached_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse {

using std::chrono::milliseconds;

namespace {

/// False when there is no room for all of it.
bool write_where_room_is(int fd, std::uint64_t offset, Bytes bytes,
                         const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = uninterrupted(
        [&] { return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) return false;
    if (n < 0) throw_errno("write to", path);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

}  // namespace

CachedFile::State::State(std::shared_ptr<CacheDirectory> in, ShardFiles opened)
    : cache(std::move(in)),
      lease_end{*cache},
      files(std::move(opened)),
      data_file(identity_of(files.data_fd.get())),
      data(files.data_fd.get(), files.data.path, true),
      runs(files.runs_fd.get(), files.runs.path, true),
      claims(std::move(files.runs_fd), files.runs.path) {
  files.folder.reset();
  files.data_fd.reset();
}

CachedFile::State::~State() {
  for (const std::size_t run : claims.ours()) {
    try {
      drop(run);
    } catch (const Error&) {  // the claims end with the description
    }
  }
}

ByteRange CachedFile::State::range_of(std::size_t run) const {
  const std::size_t count = runs_of(files.header.bytes);
  if (run < count) return run_range(files.header.bytes, run);
  throw Error(ErrorKind::kUsage,
              "there is no run " + std::to_string(run) + ": the file has " + std::to_string(count),
              files.data.path);
}

bool CachedFile::State::mark(std::size_t run, std::byte there) {
  return write_where_room_is(claims.fd(), byte_of_run(run).offset, Bytes(&there, 1),
                             files.runs.path);
}

UniqueFd CachedFile::State::open_data(int flags) const {
  const UniqueFd folder = open_folder(cache->fd(), cache->path(), files.header.sha256, false);
  if (!folder) return {};
  UniqueFd fd = open_beneath({folder.get(), files.data.name, files.data.path}, flags);
  if (!fd && errno != ENOENT && errno != ELOOP) throw_errno("open", files.data.path);
  return fd && identity_of(fd.get()) == data_file ? std::move(fd) : UniqueFd();
}

bool CachedFile::State::punch(std::size_t run) const {
  const UniqueFd fd = open_data(O_RDWR);
  if (!fd) return false;
  constexpr int kHow = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  const auto begin = static_cast<off_t>(range_of(run).offset);
  // The whole run, even of the last: so that the block in which the file ends goes, too.
  return uninterrupted([&] {
           return ::fallocate(fd.get(), kHow, begin, static_cast<off_t>(kRunBytes));
         }) == 0;
}

void CachedFile::State::drop(std::size_t run) {
  const StopGrace grace;  // what is given up after a stop is still counted
  claims.end(run);
  cache->refund(range_of(run).length);
}

CachedFile::CachedFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
CachedFile::~CachedFile() = default;

std::uint64_t CachedFile::bytes() const { return state_->files.header.bytes; }
std::size_t CachedFile::runs() const { return runs_of(bytes()); }
ByteRange CachedFile::range_of(std::size_t run) const { return state_->range_of(run); }
UniqueFd CachedFile::open_data() const {
  UniqueFd fd = state_->open_data(O_RDONLY);
  if (fd) return fd;
  throw Error(ErrorKind::kIo, "a file was removed from the cache while it was in use",
              state_->files.data.path, "run the same command again");
}
const MappedFile& CachedFile::data() const { return state_->data; }

bool CachedFile::has(std::size_t run) const {
  static_cast<void>(range_of(run));
  const std::byte& byte = state_->runs.bytes()[byte_of_run(run).offset];
  // What was written before the byte is seen after it: write() has the other half.
  return std::atomic_ref(const_cast<std::byte&>(byte)).load(std::memory_order_acquire) ==
         std::byte{1};
}

CachedFile::Claim CachedFile::claim(std::size_t run) {
  if (has(run)) return Claim::kThere;
  if (!state_->claims.try_take(run)) return has(run) ? Claim::kThere : Claim::kOthers;
  try {
    const bool written = has(run);  // by another, between the two lines above
    if (!written && state_->cache->reserve(range_of(run).length)) return Claim::kMine;
    state_->claims.end(run);
    return written ? Claim::kThere : Claim::kNoSpace;
  } catch (...) {
    state_->claims.end(run);
    throw;
  }
}

bool CachedFile::write(std::size_t run, Bytes bytes) {
  const ByteRange range = range_of(run);
  if (bytes.size() != range.length || !state_->claims.is_ours(run)) {
    throw Error(
        ErrorKind::kUsage,
        "a run that is written must be claimed, and have all its bytes: run " + std::to_string(run),
        state_->files.data.path);
  }
  try {
    const UniqueFd fd = state_->open_data(O_RDWR);
    const bool written =
        fd && write_where_room_is(fd.get(), range.offset, bytes, state_->files.data.path);
    // Both are system calls, whose locks in the kernel keep them in this order for others.
    if (written && state_->mark(run, std::byte{1})) {
      state_->claims.end(run);
      return true;
    }
    state_->punch(run);
  } catch (...) {
    state_->drop(run);
    throw;
  }
  state_->drop(run);
  return false;
}

void CachedFile::give_up(std::size_t run) {
  if (state_->claims.is_ours(run)) state_->drop(run);
}

bool CachedFile::wait_for(std::size_t run, milliseconds most) {
  // The lock of another process cannot be waited for with a limit, so it is looked at now and then:
  // a run takes some ten milliseconds to arrive.
  constexpr milliseconds kLongest{16};
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  milliseconds slice{1};
  while (!has(run) && state_->claims.is_taken(run)) {
    const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    if (passed >= most) break;
    state_->claims.wait(run, std::min({slice, kLongest, most - passed}));
    slice = std::min(2 * slice, kLongest);
  }
  return has(run);
}

void CachedFile::forget(std::size_t run) {
  if (!has(run)) return;
  // Only under a claim are the bytes taken away: another may have fetched them anew. Where the
  // claim is another's, the worst of marking alone is that a run is fetched twice.
  const bool mine = state_->claims.try_take(run);
  try {
    state_->mark(run, std::byte{0});
    if (mine && state_->punch(run)) state_->cache->refund(range_of(run).length);
  } catch (...) {
    if (mine) state_->claims.end(run);
    throw;
  }
  if (mine) state_->claims.end(run);
}

}  // namespace packhorse
