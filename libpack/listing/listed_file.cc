#include "listing/listed_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/file.h"
#include "base/hash.h"
#include "base/resources.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void changed(const fs::path& path) {
  throw Error(ErrorKind::kIo, "changed its size since it was listed", path);
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

ListedFolder::ListedFolder(fs::path path)
    : path_(std::move(path)), fd_(open_file(path_, O_RDONLY | O_DIRECTORY)) {
  if (!fd_) throw_errno("open the folder", path_);
}

UniqueFd ListedFolder::open(const std::string& name) const {
  UniqueFd fd = open_at(fd_.get(), name.c_str(), O_RDONLY | O_NONBLOCK);
  if (!fd) throw_errno("open", path_ / name);
  return fd;
}

void ListedFolder::read(const std::string& name, std::uint64_t size,
                        std::vector<std::byte>& out) const {
  const UniqueFd fd = open(name);
  // Reading one byte more than it should have shows that a file has grown, without asking for its
  // size.
  out.resize(size + 1);
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t n =
        uninterrupted([&] { return ::read(fd.get(), out.data() + filled, out.size() - filled); });
    if (n < 0) throw_errno("read", path_ / name);
    filled += static_cast<std::size_t>(n);
    if (n == 0 || filled == size) break;
  }
  if (filled != size) changed(path_ / name);
  out.resize(size);
}

void ListedFolder::read_image(const std::string& name, std::uint64_t size, Input& out) const {
  out.cut = out.head > 0 && size > out.head;
  if (!out.cut) return read(name, size, out.bytes);
  out.bytes.resize(out.head);
  read_exactly(open(name).get(), 0, out.bytes, path_ / name);
}

/// The kernel knows the real path of what is open, whatever links led there.
void ListedFolder::refuse_outside(int fd, const fs::path& path) const {
  const auto real = [&](int open) {
    std::error_code code;
    const fs::path link = fs::read_symlink("/proc/self/fd/" + std::to_string(open), code);
    if (code) throw Error(ErrorKind::kIo, "cannot find out where it lies: " + code.message(), path);
    return link.native();
  };
  const std::string folder = real(fd_.get());
  if (real(fd).starts_with(folder == "/" ? folder : folder + '/')) return;
  throw Error(ErrorKind::kIo, "a link that leads out of the source", path);
}

void ListedFolder::read_unlisted(const std::string& name, std::vector<std::byte>& out,
                                 Links links) const {
  const UniqueFd fd = open(name);
  const fs::path path = path_ / name;
  if (links == Links::kInside) refuse_outside(fd.get(), path);
  out.resize(file_size(fd.get(), path));
  read_exactly(fd.get(), 0, out, path);
  if (file_size(fd.get(), path) != out.size()) changed(path);
}

bool ListedFolder::prefetch(const std::string& name) const {
  const UniqueFd fd = open_at(fd_.get(), name.c_str(), O_RDONLY | O_NONBLOCK);
  if (!fd) return false;
  std::byte byte{};
  const iovec first{&byte, 1};
  // A file system that cannot tell is taken for one that keeps everything in memory.
  if (::preadv2(fd.get(), &first, 1, 0, RWF_NOWAIT) >= 0 || errno != EAGAIN) return false;
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_WILLNEED);
  return true;
}

}  // namespace packhorse
