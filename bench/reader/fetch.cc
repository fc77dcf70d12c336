#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "loops.h"
#include "packhorse/base/error.h"
#include "packhorse/base/file.h"
#include "packhorse/base/hash.h"
#include "packhorse/base/mapped_file.h"
#include "packhorse/reader/dataset.h"
#include "packhorse/reader/measure.h"
#include "packhorse/reports/report_json.h"

namespace packhorse::bench {

using program::Json;

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSample = 128u << 10;  // bytes a thread takes at a time, as if a sample
constexpr std::uint64_t kAsk = 4u << 20, kAhead = 32u << 20;
constexpr std::uint64_t kDirect = 4u << 20;
constexpr std::size_t kPage = 4096;
constexpr unsigned kDepth = 16;
constexpr std::uint64_t kUring = 1u << 20;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<std::byte[], Free>;

Buffer buffer_of(std::uint64_t bytes) {
  return Buffer(static_cast<std::byte*>(std::aligned_alloc(kPage, bytes)));
}

UniqueFd open_direct(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!fd) throw_errno("open for direct reads", path);
  return fd;
}

/// Calls `work(offset, length)` for all pieces of a file, from several threads.
void in_pieces(std::uint64_t bytes, std::uint64_t piece, int threads,
               const std::function<void(std::uint64_t, std::uint64_t)>& work) {
  std::atomic<std::uint64_t> next{0};
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      for (std::uint64_t at = next.fetch_add(piece); at < bytes; at = next.fetch_add(piece))
        work(at, std::min(piece, bytes - at));
    });
  }
}

/// As the reader: mapped memory, asked for ahead.
std::uint64_t read_mapped(const fs::path& path, int threads) {
  const MappedFile file(path);
  std::atomic<std::uint64_t> asked{0}, sum{0};
  in_pieces(file.bytes().size(), kSample, threads, [&](std::uint64_t at, std::uint64_t length) {
    for (std::uint64_t ask = asked; ask < at + kAhead; ask = asked) {
      if (asked.compare_exchange_weak(ask, ask + kAsk)) file.will_need({ask, kAsk});
    }
    sum += xxh3(file.bytes().subspan(at, length));
  });
  return sum;
}

/// Without asking ahead: what the kernel's own read-ahead makes of a mapping.
std::uint64_t read_faulting(const fs::path& path, int threads) {
  const MappedFile file(path);
  std::atomic<std::uint64_t> sum{0};
  in_pieces(file.bytes().size(), kSample, threads, [&](std::uint64_t at, std::uint64_t length) {
    sum += xxh3(file.bytes().subspan(at, length));
  });
  return sum;
}

std::uint64_t read_pieces(const fs::path& path, const UniqueFd& fd, std::uint64_t piece,
                          int threads) {
  std::atomic<std::uint64_t> sum{0};
  in_pieces(file_size(fd.get(), path), piece, threads, [&](std::uint64_t at, std::uint64_t length) {
    thread_local const Buffer buffer = buffer_of(kDirect);
    const ssize_t n = ::pread(fd.get(), buffer.get(), piece, static_cast<off_t>(at));
    if (n < static_cast<ssize_t>(length)) throw_errno("read", path);
    sum += xxh3({buffer.get(), length});
  });
  return sum;
}

/// One ring with many direct reads in flight; as many threads hash what has come.
std::uint64_t read_uring(const fs::path& path, int threads) {
  const UniqueFd fd = open_direct(path);
  const std::uint64_t bytes = file_size(fd.get(), path);
  std::atomic<std::uint64_t> next{0}, sum{0};
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      io_uring ring{};
      if (::io_uring_queue_init(kDepth, &ring, 0) < 0) throw_errno("set up io_uring for", path);
      std::vector<Buffer> buffers;
      std::vector<std::uint64_t> offsets(kDepth);
      const auto submit = [&](unsigned slot) {
        offsets[slot] = next.fetch_add(kUring);
        if (offsets[slot] >= bytes) return false;
        io_uring_sqe* entry = ::io_uring_get_sqe(&ring);
        ::io_uring_prep_read(entry, fd.get(), buffers[slot].get(), kUring, offsets[slot]);
        ::io_uring_sqe_set_data64(entry, slot);
        ::io_uring_submit(&ring);
        return true;
      };
      unsigned in_flight = 0;
      for (unsigned slot = 0; slot < kDepth; ++slot) {
        buffers.push_back(buffer_of(kUring));
        if (submit(slot)) ++in_flight;
      }
      while (in_flight > 0) {
        io_uring_cqe* done = nullptr;
        if (::io_uring_wait_cqe(&ring, &done) < 0) throw_errno("wait for", path);
        const auto slot = static_cast<unsigned>(::io_uring_cqe_get_data64(done));
        const std::uint64_t length = std::min(kUring, bytes - offsets[slot]);
        if (done->res < static_cast<int>(length)) throw_errno("read", path);
        ::io_uring_cqe_seen(&ring, done);
        sum += xxh3({buffers[slot].get(), length});
        if (!submit(slot)) --in_flight;
      }
      ::io_uring_queue_exit(&ring);
    });
  }
  all.clear();
  return sum;
}

/// Shards from end to end, cold, in one way: which of them the reader should use.
class Fetch final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("input", input_, "A dataset")->required();
    app.add_option("--mode", mode_)
        ->check(CLI::IsMember({"mapped", "faults", "pread", "direct", "uring"}))
        ->capture_default_str();
    app.add_option("--threads", threads_)->check(CLI::PositiveNumber)->capture_default_str();
  }

  int run(const std::stop_token&) override {
    const std::vector<fs::path> files = reader::Dataset::open(input_)->files();
    reader::make_cold(*reader::Dataset::open(input_));
    std::uint64_t bytes = 0;
    const double cpu_before = cpu_seconds();
    const Clock::time_point begin = Clock::now();
    for (const fs::path& file : files) {
      read(file);
      bytes += fs::file_size(file);
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    fmt::print("{}", json_text({{"bytes", bytes},
                                {"seconds", seconds},
                                {"mb_per_s", static_cast<double>(bytes) / seconds / 1e6},
                                {"cpu_s", cpu_seconds() - cpu_before}}));
    return program::kDone;
  }

 private:
  std::uint64_t read(const fs::path& file) const {
    if (mode_ == "mapped") return read_mapped(file, threads_);
    if (mode_ == "faults") return read_faulting(file, threads_);
    if (mode_ == "pread") return read_pieces(file, open_for_reading(file), kSample, threads_);
    if (mode_ == "direct") return read_pieces(file, open_direct(file), kDirect, threads_);
    return read_uring(file, threads_);
  }

  std::string input_, mode_ = "mapped";
  int threads_ = 2;
};

}  // namespace

std::unique_ptr<program::Command> make_fetch() { return std::make_unique<Fetch>(); }

}  // namespace packhorse::bench
