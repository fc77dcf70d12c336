#include "storage/cache/beneath.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Status = struct stat;

bool is_own(const Status& status) {
  return S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1;
}

bool status_of(const Beneath& file, Status& status) {
  return ::fstatat(file.directory, file.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

UniqueFd open_beneath(const Beneath& file, int flags) {
  constexpr mode_t kMine = 0600;
  constexpr int kCareful = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  return UniqueFd(uninterrupted(
      [&] { return ::openat(file.directory, file.name.c_str(), flags | kCareful, kMine); }));
}

UniqueFd open_again(int fd, int flags, const fs::path& path) {
  UniqueFd again = open_file("/proc/self/fd/" + std::to_string(fd), flags);
  if (!again) throw_errno("open again", path);
  return again;
}

FileIdentity identity_of(int fd) {
  Status status{};
  if (::fstat(fd, &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

bool is_own_file(int fd) {
  Status status{};
  return ::fstat(fd, &status) == 0 && is_own(status);
}

bool is_own_file(const Beneath& file) {
  Status status{};
  return status_of(file, status) && is_own(status);
}

bool leads_to(const Beneath& file, int fd) {
  Status named{};
  return status_of(file, named) && identity_of(fd) == FileIdentity{named.st_dev, named.st_ino};
}

void refuse_foreign(const fs::path& path) {
  throw Error(ErrorKind::kIo,
              "something that the cache has not made has the name of one of its files", path,
              "remove it, or choose another directory for the cache");
}

std::vector<std::string> names_in(int directory, const fs::path& path) {
  // Listing moves the description's place, which others may share: so it gets one of its own.
  UniqueFd fd = open_at(directory, ".", O_DIRECTORY | O_RDONLY);
  if (!fd) throw_errno("list", path);
  const std::unique_ptr<DIR, CloseDirectory> listing(::fdopendir(fd.get()));
  if (!listing) throw_errno("list", path);
  static_cast<void>(fd.release());
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(listing.get());
    if (entry == nullptr && errno == EINTR) continue;
    if (entry == nullptr && errno != 0) throw_errno("list", path);
    if (entry == nullptr) return names;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace packhorse
