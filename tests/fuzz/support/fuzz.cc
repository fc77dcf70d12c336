#include "support/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "guarded.h"

namespace packhorse::fuzz {

namespace {

constexpr std::size_t kLargest = std::size_t{8} << 20;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

}  // namespace

Bytes guarded(const std::uint8_t* data, std::size_t size) {
  static GuardedMemory memory(kLargest);
  if (size > kLargest) die("an input of more than 8 MiB: set -max_len");
  return memory.at_end({reinterpret_cast<const std::byte*>(data), size});
}

void promise(bool kept, const char* what) {
  if (!kept) die(what);
}

std::uint64_t touch(Bytes bytes) {
  std::uint64_t sum = 0;
  for (const std::byte byte : bytes) sum = sum * 31 + std::to_integer<std::uint64_t>(byte);
  volatile std::uint64_t kept = sum;  // reads must not be optimised away
  return kept;
}

bool has_long_number(Bytes text, std::size_t digits) {
  std::size_t run = 0;
  for (const char c : as_text(text)) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    if (run == digits) return true;
  }
  return false;
}

MemoryFile::MemoryFile(const std::string& name) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  if (fd_ < 0) die("no file in memory");
  path_ = "/proc/self/fd/" + std::to_string(fd_);
  if (name.empty()) return;
  std::string folder = (std::filesystem::temp_directory_path() / "packhorse-fuzz-XXXXXX").native();
  if (::mkdtemp(folder.data()) == nullptr) die("no folder for a link to the input");
  folder_ = folder;
  std::filesystem::create_symlink(path_, folder_ / name);
  path_ = folder_ / name;
}

MemoryFile::~MemoryFile() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  ::close(fd_);
}

void MemoryFile::hold(Bytes content) {
  if (::ftruncate(fd_, static_cast<off_t>(content.size())) != 0) die("cannot resize the input");
  const ssize_t written = ::pwrite(fd_, content.data(), content.size(), 0);
  if (written != static_cast<ssize_t>(content.size())) die("cannot write the input");
}

}  // namespace packhorse::fuzz
