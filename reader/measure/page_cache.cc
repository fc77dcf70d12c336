#include "measure/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/reader/measure.h"

namespace packhorse::reader {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr const char* kDropCaches = "/proc/sys/vm/drop_caches";  // proc_sys_vm(5)

/// A mapping of `length` bytes. Touching none of them leaves the page cache as it is.
class Mapping {
 public:
  Mapping(int fd, std::size_t length, const std::filesystem::path& path)
      : begin_(::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, 0)), length_(length) {
    if (begin_ == MAP_FAILED) throw_errno("map", path);
  }
  ~Mapping() { ::munmap(begin_, length_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  void* begin() const { return begin_; }

 private:
  void* begin_;
  std::size_t length_;
};

}  // namespace

void load_file(const std::filesystem::path& path) {
  const UniqueFd fd = open_for_reading(path);
  const std::uint64_t size = file_size(fd.get(), path);
  std::vector<std::byte> chunk(std::min<std::uint64_t>(size, kChunk));
  for (std::uint64_t at = 0; at < size; at += chunk.size()) {
    const std::uint64_t n = std::min<std::uint64_t>(chunk.size(), size - at);
    read_exactly(fd.get(), at, std::span(chunk).first(n), path);
  }
}

Pages drop_file(const std::filesystem::path& path) {
  const UniqueFd fd = open_for_reading(path);
  const std::uint64_t size = file_size(fd.get(), path);
  if (size == 0) return {};
  // Dirty pages cannot be dropped. A file system that refuses the sync shows in the count below.
  static_cast<void>(::fsync(fd.get()));
  static_cast<void>(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED));
  const Mapping mapping(fd.get(), size, path);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> in_memory((size + page - 1) / page);
  if (::mincore(mapping.begin(), size, in_memory.data()) != 0)
    throw_errno("look for cached pages of", path);
  Pages pages{in_memory.size(), 0};
  for (const unsigned char state : in_memory) pages.resident += state & 1u;
  return pages;
}

bool can_drop_names() { return ::access(kDropCaches, W_OK) == 0; }

void drop_names() {
  const UniqueFd fd(::open(kDropCaches, O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0 || ::write(fd.get(), "3", 1) != 1) throw_errno("write", kDropCaches);
}

}  // namespace packhorse::reader
