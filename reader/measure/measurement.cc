#include "measure/measurement.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

/// A file's pages: how many there are, and how many of them are in the page cache.
struct Pages {
  std::uint64_t all = 0, resident = 0;
};

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

/// Reads a file from end to end.
void load_file(const std::filesystem::path& path) {
  const UniqueFd fd = open_for_reading(path);
  const std::uint64_t size = file_size(fd.get(), path);
  std::vector<std::byte> chunk(std::min<std::uint64_t>(size, kChunk));
  for (std::uint64_t at = 0; at < size; at += chunk.size()) {
    const std::uint64_t n = std::min<std::uint64_t>(chunk.size(), size - at);
    read_exactly(fd.get(), at, std::span(chunk).first(n), path);
  }
}

/// Writes a file's dirty pages back, asks the kernel to drop all its pages, and counts those that
/// stay.
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

/// Makes the kernel forget the names and inodes of all files that nobody has open, and the disk
/// blocks that hold them. Those are pages like all others, so everything in the page cache that can
/// be dropped is. Throws Error(kIo).
void drop_names() {
  const UniqueFd fd(::open(kDropCaches, O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0 || ::write(fd.get(), "3", 1) != 1) throw_errno("write", kDropCaches);
}

using Clock = std::chrono::steady_clock;

// The disk must deliver this share of the bytes that a cold pass reads. Other programs may have
// brought the rest into the page cache meanwhile.
constexpr double kColdShare = 0.9, kColdPartShare = 0.5;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

void bring_to(CacheState state, const Dataset& dataset) {
  if (state == CacheState::kWarm) make_warm(dataset);
  if (state == CacheState::kCold) make_cold(dataset);
}

std::uint64_t bytes_of_files(const Dataset& dataset) {
  std::uint64_t bytes = 0;
  for (const std::filesystem::path& path : dataset.files()) {
    const UniqueFd fd = open_for_reading(path);
    bytes += file_size(fd.get(), path);
  }
  return bytes;
}

/// How far a pass has got.
struct Progress {
  Clock::time_point at;
  double cpu_s = 0;
  std::uint64_t images = 0, bytes = 0, objects = 0;
  std::size_t batches = 0;
};

/// Whether what came after `begin` has reached a limit.
bool enough(const Progress& now, const Progress& begin, double first_batch_s,
            const MeasureOptions& options) {
  if (options.max_samples > 0 && now.images >= options.max_samples) return true;
  return options.max_seconds > 0 &&
         seconds_between(begin.at, now.at) >=
             std::max(options.max_seconds, options.min_first_batches * first_batch_s);
}

}  // namespace

bool can_drop_names() { return ::access(kDropCaches, W_OK) == 0; }

ProcessUsage process_usage() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  ProcessUsage result{.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime)};
  std::ifstream io("/proc/self/io");
  std::string name;
  for (std::uint64_t value = 0; io >> name >> value;) {
    if (name == "read_bytes:") result.disk_bytes = value;
  }
  return result;
}

void prove_cold(const Dataset& dataset, const ColdPass& pass) {
  const double part = static_cast<double>(pass.images) / static_cast<double>(dataset.size());
  // A compressed dataset takes fewer bytes from the disk than it reads; for a pass over part of one
  // only the mean is known.
  const double expected = std::min(static_cast<double>(pass.bytes),
                                   part * static_cast<double>(bytes_of_files(dataset)));
  const double share = part < 1 ? kColdPartShare : kColdShare;
  if (static_cast<double>(pass.disk_bytes) >= share * expected) return;
  throw Error(ErrorKind::kUnsupported,
              "the pass was not cold: of " + std::to_string(static_cast<std::uint64_t>(expected)) +
                  " bytes that it read the disk delivered " + std::to_string(pass.disk_bytes) +
                  ", by /proc/self/io",
              {}, "measure where nothing else reads the files, on a local disk");
}

void make_warm(const Dataset& dataset) {
  std::vector<std::byte> scratch;
  const bool elsewhere = dataset.files().empty();
  for (std::size_t i = 0; elsewhere && i < dataset.size(); ++i)
    static_cast<void>(dataset.view(i, scratch));
  for (const std::filesystem::path& path : dataset.files()) load_file(path);
}

void load_afresh(const Dataset& dataset) {
  dataset.release();  // a mapped page stays
  for (const std::filesystem::path& path : dataset.files()) {
    static_cast<void>(drop_file(path));
    load_file(path);
  }
}

void make_cold(const Dataset& dataset) {
  dataset.release();
  std::vector<std::filesystem::path> files = dataset.files();
  if (files.empty() && dataset.size() > 0)
    throw Error(ErrorKind::kUsage, "a dataset that lies elsewhere cannot be made cold", {},
                "leave out `cold=`; the first of several passes is cold where the cache is empty: "
                "`packhorse cache clear`");
  Pages total;
  // Pages that an earlier pass prefetched and that are still on their way from the disk cannot be
  // dropped.
  for (int tries = 20; tries > 0; --tries) {
    Pages left;
    std::erase_if(files, [&](const std::filesystem::path& path) {
      const Pages pages = drop_file(path);
      left.all += pages.all;
      left.resident += pages.resident;
      return pages.resident == 0;
    });
    total = {std::max(total.all, left.all), left.resident};
    if (total.resident * 100 <= total.all) {
      if (can_drop_names()) drop_names();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw Error(ErrorKind::kUnsupported,
              "the dataset cannot be made cold: " + std::to_string(total.resident) + " of its " +
                  std::to_string(total.all) + " pages stay in memory",
              {},
              "measure on a file system backed by a disk, as the files' owner, while nothing else "
              "reads them");
}

Measurement measure(const std::shared_ptr<const Dataset>& dataset, const MeasureOptions& options) {
  LoaderOptions loader_options = options.loader;
  loader_options.decode = options.work == Work::kDecode;
  const auto disk_bytes = [&] {
    return options.disk_bytes ? options.disk_bytes() : process_usage().disk_bytes;
  };
  bring_to(options.cache, *dataset);

  Measurement result;
  const std::uint64_t disk_before = disk_bytes();
  const CpuWatch cpus;
  const Clock::time_point made = Clock::now();
  Loader loader(dataset, loader_options);
  const auto progress = [&](const Progress& last, const Clock::time_point now) {
    return Progress{now,          process_usage().cpu_s, last.images, loader.counters().bytes,
                    last.objects, last.batches};
  };
  Progress begin = progress({}, Clock::now());
  Progress warmed = begin, last = begin;
  std::uint64_t epoch = 0;
  loader.start_epoch(epoch);
  while (true) {
    const std::optional<Batch> batch = loader.next();
    if (!batch) {
      if (loader.steps() == 0 || seconds_between(begin.at, last.at) >= options.min_seconds) break;
      loader.start_epoch(++epoch);
      continue;
    }
    if (options.stop.stop_requested())
      throw Error(ErrorKind::kInterrupted, "stopped; no measurement was completed");
    const Clock::time_point now = Clock::now();
    if (last.batches == 0) result.first_batch_s = seconds_between(made, now);
    result.batch_ms.push_back(seconds_between(last.at, now) * 1e3);
    last.at = now;
    last.images += static_cast<std::uint64_t>(batch->size());
    last.objects += batch->targets().offsets.back();
    ++last.batches;
    if (last.batches == options.warmup_batches) warmed = progress(last, now);
    if (last.batches > options.warmup_batches &&
        enough(last, warmed, result.first_batch_s, options)) {
      begin = warmed;
      break;
    }
  }
  last = progress(last, last.at);
  result.load = cpus.load();
  result.images = last.images - begin.images;
  result.warmup_images = begin.images;
  result.seconds = seconds_between(begin.at, last.at);
  result.cpu_s = last.cpu_s - begin.cpu_s;
  result.bytes = last.bytes - begin.bytes;
  result.objects = last.objects - begin.objects;
  result.batch_ms.erase(result.batch_ms.begin(),
                        result.batch_ms.begin() + static_cast<std::ptrdiff_t>(begin.batches));
  result.counters = loader.counters();
  result.disk_bytes = disk_bytes() - disk_before;
  result.shuffle = loader.shuffle_quality();
  if (options.cache == CacheState::kCold)
    prove_cold(*dataset, {last.images, last.bytes, result.disk_bytes});
  return result;
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  return {*min, percentile(values, 0.5), *max};
}

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double place = std::clamp(p, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - std::floor(place));
}

}  // namespace packhorse::reader
