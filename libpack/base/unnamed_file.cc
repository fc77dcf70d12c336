#include "base/unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

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

}  // namespace packhorse
