#include "packhorse/base/mapped_file.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <mutex>
#include <utility>

#include "base/file.h"
#include "packhorse/base/error.h"

namespace packhorse {

/// What the signal handler must know about a mapping. Never freed, only reused: a handler may be
/// reading it.
struct MappedFile::Region {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<bool> truncated{false};
  Region* next = nullptr;
  Region* next_unused = nullptr;  ///< under the mutex of Regions

  bool holds(std::uintptr_t address) const {
    return address >= begin.load(std::memory_order_acquire) &&
           address < end.load(std::memory_order_acquire);
  }
};

/// All mappings of the process, and the handlers that were there before ours.
struct Regions {
  using Region = MappedFile::Region;

  static Regions& all() {
    static Regions regions;
    return regions;
  }

  Region* add(Bytes bytes) {
    const std::scoped_lock lock(mutex);
    Region* region = unused;
    if (region != nullptr) {
      unused = region->next_unused;
    } else {
      region = new Region;
      region->next = first;
      first = region;
    }
    region->truncated = false;
    region->begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    region->end = region->begin + bytes.size();
    return region;
  }

  void remove(Region* region) {
    const std::scoped_lock lock(mutex);
    region->end = 0;
    region->begin = 0;
    region->next_unused = unused;
    unused = region;
  }

  /// Puts our handler in front of one that somebody else has installed since.
  void arm() {
    struct sigaction now {};
    ::sigaction(SIGBUS, nullptr, &now);
    if (is_ours(now)) return;
    const std::unique_lock lock(mutex, std::try_to_lock);  // after fork() its owner may be gone
    if (lock) install();
  }

 private:
  using Action = struct sigaction;
  static constexpr std::size_t kMostOthers = 8;

  Regions() : page(static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE))) {
    install();
    // A child of fork() maps files, too, and lacks the thread that may hold the mutex.
    ::pthread_atfork([] { all().mutex.lock(); }, [] { all().mutex.unlock(); },
                     [] { all().mutex.unlock(); });
  }

  static void handle(int signal, siginfo_t* info, void* context) {
    all().on_bus_error(signal, info, context);
  }

  static bool is_ours(const Action& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle;
  }

  void install() {
    Action ours{}, before{};
    ours.sa_sigaction = handle;
    // A handler that we call may send the signal again, to its own predecessor.
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&ours.sa_mask);
    ::sigaction(SIGBUS, &ours, &before);
    if (!is_ours(before)) remember(before);
  }

  void remember(const Action& other) {
    const std::size_t known = others_known;
    const bool is_default = other.sa_handler == SIG_DFL || other.sa_handler == SIG_IGN;
    const bool is_known =
        std::any_of(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(known),
                    [&](const Action& one) { return one.sa_handler == other.sa_handler; });
    if (is_default || is_known || known == kMostOthers) return;
    others[known] = other;
    others_known = known + 1;
  }

  /// Does only what a signal handler may do.
  void on_bus_error(int signal, siginfo_t* info, void* context) {
    const bool is_fault = info->si_code > 0;  // and not sent by a process
    if (is_fault && replace_page(reinterpret_cast<std::uintptr_t>(info->si_addr))) return;
    // The last to be installed comes first. When it sends the signal again, the one before is next.
    const std::size_t known = others_known, depth = passing_on++;
    if (depth < known) {
      call(others[known - 1 - depth], signal, info, context);
    } else {
      ::signal(signal, SIG_DFL);  // a fault recurs, and ends the process as usual
      if (!is_fault) ::raise(signal);
    }
    --passing_on;
  }

  bool replace_page(std::uintptr_t address) {
    for (Region* region = first; region != nullptr; region = region->next) {
      if (!region->holds(address)) continue;
      region->truncated = true;
      void* zeros = ::mmap(reinterpret_cast<void*>(address / page * page), page, PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
      if (zeros != MAP_FAILED) return true;
    }
    return false;
  }

  static void call(const Action& other, int signal, siginfo_t* info, void* context) {
    if ((other.sa_flags & SA_SIGINFO) != 0) {
      other.sa_sigaction(signal, info, context);
    } else {
      other.sa_handler(signal);
    }
  }

  std::mutex mutex;
  Region* unused = nullptr;  ///< those that no file has, under the mutex
  std::atomic<Region*> first{nullptr};
  std::array<Action, kMostOthers> others{};  ///< only ever added to: a handler may be reading
  std::atomic<std::size_t> others_known{0}, passing_on{0};
  const std::uintptr_t page;
};

namespace {

void* address_of(Bytes bytes) { return const_cast<std::byte*>(bytes.data()); }

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path)
    : MappedFile(open_for_reading(path).get(), path) {}

MappedFile::MappedFile(int fd, const std::filesystem::path& path, bool written) {
  const std::uint64_t size = file_size(fd, path);
  if (size == 0) return;
  void* memory = ::mmap(nullptr, size, PROT_READ, written ? MAP_SHARED : MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED) throw_errno("map", path);
  bytes_ = Bytes(static_cast<const std::byte*>(memory), size);
  region_ = Regions::all().add(bytes_);
  arm();
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  Regions::all().remove(region_);
  ::munmap(address_of(bytes_), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      region_(std::exchange(other.region_, nullptr)),
      end_mark_(std::exchange(other.end_mark_, nullptr)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(region_, other.region_);
  std::swap(end_mark_, other.end_mark_);
  return *this;
}

void MappedFile::arm() { Regions::all().arm(); }

bool MappedFile::truncated() const {
  if (region_ == nullptr) return false;
  if (end_mark_ != nullptr) {
#ifndef __SANITIZE_THREAD__                               // which knows no fences
    std::atomic_thread_fence(std::memory_order_acquire);  // after what was read before
#endif
    if (*static_cast<const volatile std::byte*>(end_mark_) == std::byte{0}) return true;
  }
  return region_->truncated;
}

void MappedFile::watch_end() {
  const auto last = std::find_if(bytes_.rbegin(), bytes_.rend(),
                                 [](std::byte byte) { return byte != std::byte{0}; });
  end_mark_ = last == bytes_.rend() ? nullptr : &*last;
}

void MappedFile::will_need(ByteRange range) const {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t end = std::min<std::uint64_t>(range.end(), bytes_.size());
  const std::uint64_t begin = range.offset / kPage * kPage;
  if (begin >= end) return;
  ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_WILLNEED);
}

void MappedFile::release() const {
  if (!bytes_.empty() && !truncated()) ::madvise(address_of(bytes_), bytes_.size(), MADV_DONTNEED);
}

}  // namespace packhorse
