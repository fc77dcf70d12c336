// A mapped file is readable up to the end of its last page: a parser that goes beyond the file
// reads zeros, and nobody notices. The fuzz targets are linked with --wrap=mmap,--wrap=munmap, so
// that the rest of libpack's mappings is poisoned.
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <cstddef>

namespace {

constexpr std::size_t kPage = 4096;

std::size_t pages(std::size_t length) { return (length + kPage - 1) / kPage * kPage; }

}  // namespace

extern "C" {

// The linker's names (ld --wrap).
// NOLINTBEGIN(bugprone-reserved-identifier)
void* __real_mmap(void* address, std::size_t length, int protection, int flags, int fd,
                  off_t offset);
int __real_munmap(void* address, std::size_t length);

void* __wrap_mmap(void* address, std::size_t length, int protection, int flags, int fd,
                  off_t offset) {
  void* memory = __real_mmap(address, length, protection, flags, fd, offset);
  if (memory != MAP_FAILED && fd >= 0)
    __asan_poison_memory_region(static_cast<std::byte*>(memory) + length, pages(length) - length);
  return memory;
}

int __wrap_munmap(void* address, std::size_t length) {
  __asan_unpoison_memory_region(address, pages(length));
  return __real_munmap(address, length);
}
// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
