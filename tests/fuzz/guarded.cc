#include "guarded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "packhorse/base/error.h"

namespace packhorse::fuzz {

namespace {

std::size_t page() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

GuardedMemory::GuardedMemory(std::size_t most_bytes)
    : room_((most_bytes + page() - 1) / page() * page()) {
  void* mapped = ::mmap(nullptr, room_ + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw_errno("map", {});
  mapped_ = static_cast<std::byte*>(mapped);
  begin_ = mapped_ + page();
  if (::mprotect(begin_, room_, PROT_READ | PROT_WRITE) != 0) throw_errno("protect", {});
}

GuardedMemory::~GuardedMemory() { ::munmap(mapped_, room_ + 2 * page()); }

Bytes GuardedMemory::at_end(Bytes bytes) {
  std::byte* to = begin_ + (room_ - bytes.size());
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return {to, bytes.size()};
}

Bytes GuardedMemory::at_begin(Bytes bytes) {
  if (!bytes.empty()) std::memcpy(begin_, bytes.data(), bytes.size());
  return {begin_, bytes.size()};
}

}  // namespace packhorse::fuzz
