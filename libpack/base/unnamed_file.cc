#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "base/scratch_file.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

UniqueFd open_unnamed_file(fs::path& directory) {
  if (directory.empty()) directory = fs::temp_directory_path();
  while (!fs::exists(directory) && directory.has_relative_path())
    directory = directory.parent_path();
  UniqueFd fd = open_file(directory, O_TMPFILE | O_RDWR, 0600);
  if (fd) return fd;
  // File systems without O_TMPFILE (NFS, some overlays): by a name that is removed at once.
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) {
    std::string name = (directory / "packhorse-XXXXXX").native();
    fd = UniqueFd(uninterrupted([&] { return ::mkostemp(name.data(), O_CLOEXEC); }));
    if (fd) ::unlink(name.c_str());
  }
  if (!fd) throw_errno("make a temporary file in", directory);
  return fd;
}

fs::file_time_type storage_time(fs::path directory) {
  const UniqueFd fd = open_unnamed_file(directory);
  // What made the file stamped it, too; on a full disk that is all there is.
  static_cast<void>(uninterrupted([&] { return ::pwrite(fd.get(), "now", 3, 0); }));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    throw_errno("read the time of a temporary file in", directory);
  using std::chrono::nanoseconds, std::chrono::seconds;
  const auto since_1970 = seconds(status.st_mtim.tv_sec) + nanoseconds(status.st_mtim.tv_nsec);
  return std::chrono::file_clock::from_sys(std::chrono::sys_time<nanoseconds>(since_1970));
}

}  // namespace packhorse
