#include "fuzz.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "guarded.h"

namespace packhorse::fuzz {

namespace {

constexpr std::size_t kLargest = std::size_t{8} << 20, kPage = 4096;

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

void touch(Bytes bytes) {
  if (bytes.empty()) return;
  const auto read = [](const std::byte& byte) {
    volatile std::byte kept = byte;  // reads must not be optimised away
    static_cast<void>(kept);
  };
  // Asking AddressSanitizer about the whole range is far quicker than reading byte by byte.
  auto* const begin = const_cast<std::byte*>(bytes.data());
  if (const void* bad = __asan_region_is_poisoned(begin, bytes.size()))
    read(*static_cast<const std::byte*>(bad));
  // AddressSanitizer does not know whether memory is mapped at all.
  for (std::size_t at = 0; at < bytes.size(); at += kPage) read(bytes[at]);
  read(bytes.back());
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
  const ssize_t written = ::pwrite(fd_, content.data(), content.size(), 0);
  if (written != static_cast<ssize_t>(content.size())) die("cannot write the input");
  if (content.size() < size_ && ::ftruncate(fd_, written) != 0) die("cannot resize the input");
  size_ = content.size();
}

}  // namespace packhorse::fuzz
