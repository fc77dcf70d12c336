#include "listed_file.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/hash.h"
#include "packhorse/pack.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void changed(const fs::path& path) {
  throw Error(ErrorKind::kIo, "changed its size since it was listed", path);
}

void read_open(int fd, std::uint64_t size, std::vector<std::byte>& out, const fs::path& path) {
  out.resize(size);
  read_exactly(fd, 0, out, path);
  if (file_size(fd, path) != size) changed(path);
}

}  // namespace

int listing_threads() { return std::max(available_cpus(), 8); }

std::int64_t stamp_of(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

std::int64_t mix_stamp(std::int64_t stamp, std::uint64_t value) {
  const std::array<std::uint64_t, 2> both = {static_cast<std::uint64_t>(stamp), value};
  const auto mixed = static_cast<std::int64_t>(xxh3(std::as_bytes(std::span(both))));
  return mixed == 0 ? 1 : mixed;
}

void read_listed(const fs::path& path, std::uint64_t size, std::vector<std::byte>& out) {
  const UniqueFd fd = open_for_reading(path);
  if (file_size(fd.get(), path) != size) changed(path);
  read_open(fd.get(), size, out, path);
}

void read_unlisted(const fs::path& path, std::vector<std::byte>& out) {
  const UniqueFd fd = open_for_reading(path);
  read_open(fd.get(), file_size(fd.get(), path), out, path);
}

bool prefetch_file(const fs::path& path) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kSlow = std::chrono::microseconds(50);
  const Clock::time_point begin = Clock::now();
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return false;
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_WILLNEED);
  return Clock::now() - begin > kSlow;
}

}  // namespace packhorse
