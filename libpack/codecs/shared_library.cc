#include "codecs/shared_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

namespace packhorse::codecs {

SharedLibrary::SharedLibrary(const char* name) : name_(name) {
  if (*name == '\0') {
    why_not_ = "packhorse was built without its library";
    return;
  }
  handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) why_not_ = std::string(name) + " is not on this machine";
}

void* SharedLibrary::symbol(const char* name) {
  void* found = handle_ != nullptr ? ::dlsym(handle_, name) : nullptr;
  if (found == nullptr && handle_ != nullptr) {
    handle_ = nullptr;
    why_not_ = std::string(name_) + " is another version";
  }
  return found;
}

namespace {

thread_local int quiet = 0;  // how many live in this thread

/// Hands on to the file what is written by a thread that is not quiet.
ssize_t write_unless_quiet(void*, const char* text, std::size_t size) {
  for (std::size_t done = 0; quiet == 0 && done < size;) {
    const ssize_t written = ::write(STDERR_FILENO, text + done, size - done);
    if (written <= 0) return static_cast<ssize_t>(done);
    done += static_cast<std::size_t>(written);
  }
  return static_cast<ssize_t>(size);
}

/// Stands in for stderr, and is never closed: another thread may have begun to write to it.
std::FILE* stand_in() {
  static std::FILE* const kFile = [] {
    cookie_io_functions_t functions{};
    functions.write = write_unless_quiet;
    std::FILE* file = ::fopencookie(nullptr, "w", functions);
    if (file != nullptr) std::setvbuf(file, nullptr, _IONBF, 0);
    return file;
  }();
  return kFile;
}

std::mutex mutex;
int users = 0;  // of the stand-in, in all threads
std::FILE* original = nullptr;

/// A child of fork() must not find it locked by a thread that it does not have.
const int kForks =
    ::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });

}  // namespace

Quiet::Quiet() {
  static_cast<void>(kForks);
  ++quiet;
  const std::lock_guard lock(mutex);
  if (users++ > 0 || stand_in() == nullptr) return;
  original = stderr;
  stderr = stand_in();
}

Quiet::~Quiet() {
  --quiet;
  const std::lock_guard lock(mutex);
  if (--users == 0 && original != nullptr) stderr = original;
}

}  // namespace packhorse::codecs
