#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "packhorse/base/reason.h"

namespace packhorse {

/// The kinds of Error. Programs choose their exit code and advice by them.
enum class ErrorKind {
  kUsage,        ///< the caller asked for something that makes no sense (exit code 2)
  kNotFound,     ///< a file, folder, sample or format that is not there
  kExists,       ///< the target is already there, or another writer holds it
  kIo,           ///< the operating system refused a read or a write
  kNoSpace,      ///< the disk (or a quota) is full
  kCorrupt,      ///< bytes are not what the index, the manifest or the format says (exit code 3)
  kRejected,     ///< inputs were rejected beyond the limit (exit code 3)
  kUnsupported,  ///< valid, but this build or version cannot handle it
  kInterrupted,  ///< a stop was requested (exit code 130 or 143)
};

/// The one exception type of packhorse. `what()` is a complete sentence about what failed; `path()`
/// and `key()` say where (empty when not applicable); `advice()` says what to do next (may be
/// empty); `reason()` says why an input is rejected, if the error is about one. `what()` and
/// `advice()` never hold the secrets of an address (passwords and tokens in URLs). A program that
/// shows path or key must hide them.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what, std::filesystem::path path = {},
        const std::string& advice = {}, std::string key = {}, Reason reason = Reason::kNone);
  /// About one input.
  Error(ErrorKind kind, const Problem& problem);

  ErrorKind kind() const { return kind_; }
  const std::filesystem::path& path() const { return path_; }
  const std::string& advice() const { return advice_; }
  const std::string& key() const { return key_; }
  Reason reason() const { return reason_; }

 private:
  ErrorKind kind_;
  std::filesystem::path path_;
  std::string advice_;
  std::string key_;
  Reason reason_;
};

/// Why an input is rejected because of an error: for the error's own reason, or `otherwise`.
inline Problem problem_of(const Error& error, Reason otherwise) {
  return {error.reason() != Reason::kNone ? error.reason() : otherwise, error.what()};
}

/// Throws an Error for the current `errno`: kNoSpace for ENOSPC and EDQUOT, kNotFound for ENOENT,
/// kIo otherwise. `doing` completes "cannot ...", e.g. "write to".
[[noreturn]] void throw_errno(const std::string& doing, const std::filesystem::path& path);
/// The same for an error code of std::filesystem.
[[noreturn]] void throw_code(const std::error_code& code, const std::string& doing,
                             const std::filesystem::path& path);
/// What std::filesystem has thrown, as an Error, for programs that show errors to people.
Error error_of(const std::filesystem::filesystem_error& error);

}  // namespace packhorse
