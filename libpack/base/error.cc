#include "packhorse/base/error.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/printable.h"

namespace packhorse {

namespace {

bool file_sizes_are_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

Error::Error(ErrorKind kind, const std::string& what, std::filesystem::path path,
             const std::string& advice, std::string key, Reason reason)
    : std::runtime_error(without_secrets(what)),
      kind_(kind),
      path_(std::move(path)),
      advice_(without_secrets(advice)),
      key_(std::move(key)),
      reason_(reason) {}

Error::Error(ErrorKind kind, const Problem& problem)
    : Error(kind, problem.text, {}, {}, {}, problem.code) {}

void throw_errno(const std::string& doing, const std::filesystem::path& path) {
  const int code = errno;
  ErrorKind kind = ErrorKind::kIo;
  std::string advice, reason = std::strerror(code);
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
  } else if (code == ENOMEM) {
    advice = "raise the memory limit (ulimit -v, or the container's)";
  } else if (code == EFBIG && file_sizes_are_limited()) {
    reason += ", because of the process's file size limit (ulimit -f)";
    advice = "raise that limit, or make smaller files, then run the same command again";
  }
  throw Error(kind, "cannot " + doing + ": " + reason, path, advice);
}

void throw_code(const std::error_code& code, const std::string& doing,
                const std::filesystem::path& path) {
  errno = code.value();
  throw_errno(doing, path);
}

Error error_of(const std::filesystem::filesystem_error& error) try {
  throw_code(error.code(), "access", error.path1());
} catch (const Error& worded) {
  return worded;
}

}  // namespace packhorse
