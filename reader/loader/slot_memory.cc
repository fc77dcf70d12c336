#include <sys/mman.h>

#include <cstdint>

#include "packhorse/reader/loader.h"

namespace packhorse::reader {

namespace {

constexpr std::size_t kHugePage = 2u << 20;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

void* allocate(std::size_t bytes) {
  // The mapping is aligned by asking for a page more and giving back the excess.
  const std::size_t wanted = whole_pages(bytes);
  void* raw = ::mmap(nullptr, wanted + kHugePage, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(raw);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
  if (before > 0) ::munmap(begin, before);
  if (before < kHugePage) ::munmap(begin + before + wanted, kHugePage - before);
  ::madvise(begin + before, wanted, MADV_HUGEPAGE);
  return begin + before;
}

}  // namespace

SlotAllocator huge_page_allocator() {
  return {allocate, [](void* memory, std::size_t bytes) { ::munmap(memory, whole_pages(bytes)); }};
}

}  // namespace packhorse::reader
