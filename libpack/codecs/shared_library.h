#pragma once

#include <string>

namespace packhorse::codecs {

/// A library that is loaded when the first file needs it, and may not be there. It is never
/// unloaded. Any thread, once constructed.
class SharedLibrary {
 public:
  /// `name` as the loader finds it, such as "libavif.so.15"; empty in a build without the library.
  explicit SharedLibrary(const char* name);

  bool loaded() const { return handle_ != nullptr; }
  /// Why it is not: "libavif.so.15 is not on this machine".
  const std::string& why_not() const { return why_not_; }
  /// Where the function of this name is; null where it is not: the library counts as not loaded
  /// then.
  void* symbol(const char* name);

 private:
  const char* name_;
  void* handle_ = nullptr;
  std::string why_not_;
};

/// A function of a shared library, to be called only when that is loaded.
template <class Function>
class Symbol {
 public:
  Symbol(SharedLibrary& library, const char* name)
      : function_(reinterpret_cast<Function*>(library.symbol(name))) {}
  template <class... Arguments>
  auto operator()(Arguments... arguments) const {
    return function_(arguments...);
  }

 private:
  Function* function_;
};

/// Declares `member`, that function of the member `library` declared before it.
#define PACKHORSE_SYMBOL(member, function) \
  Symbol<decltype(function)> member { library, #function }

/// While it lives, what a library writes to stderr from this thread is dropped: some say there
/// what they think of a damaged file, and cannot be told not to. What other threads write gets
/// through, and so does all that is not written through C's stderr. Any thread.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

}  // namespace packhorse::codecs
