#include "packhorse/error.h"

#include <cerrno>
#include <cstring>

namespace packhorse {

void throw_errno(const std::string& doing, const std::filesystem::path& path) {
  const int code = errno;
  ErrorKind kind = ErrorKind::kIo;
  std::string advice;
  if (code == ENOSPC || code == EDQUOT) {
    kind = ErrorKind::kNoSpace;
    advice = "free some space there, then run the same command again";
  } else if (code == ENOENT || code == ENOTDIR) {
    kind = ErrorKind::kNotFound;
    advice = "check the path";
  } else if (code == EACCES || code == EPERM || code == EROFS) {
    advice = "check the permissions, or choose another place";
  } else if (code == EMFILE) {
    advice = "raise the limit of open files (ulimit -n)";
  }
  throw Error(kind, "cannot " + doing + ": " + std::strerror(code), path, advice);
}

}  // namespace packhorse
