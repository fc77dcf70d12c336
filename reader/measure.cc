#include "packhorse/reader/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>

#include "packhorse/error.h"
#include "packhorse/file.h"
#include "page_cache.h"

namespace packhorse::reader {

namespace {

using Clock = std::chrono::steady_clock;

// Of the bytes a cold pass reads the disk must deliver this share. The rest may be what others
// brought into the page cache meanwhile.
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

bool enough(const Measurement& so_far, const MeasureOptions& options) {
  if (options.max_samples > 0 && so_far.images >= options.max_samples) return true;
  return options.max_seconds > 0 &&
         so_far.seconds >=
             std::max(options.max_seconds, options.min_first_batches * so_far.first_batch_s);
}

}  // namespace

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
  const double part =
      std::min(1.0, static_cast<double>(pass.images) / static_cast<double>(dataset.size()));
  // What is compressed takes less of the disk than it reads; of a pass over a part of that only the
  // mean is known.
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
  for (const std::filesystem::path& path : dataset.files()) load_file(path);
}

void make_cold(const Dataset& dataset) {
  dataset.release();  // a mapped page stays
  Pages total;
  for (const std::filesystem::path& path : dataset.files()) {
    const Pages pages = drop_file(path);
    total.all += pages.all;
    total.resident += pages.resident;
  }
  if (total.resident * 100 > total.all) {
    throw Error(ErrorKind::kUnsupported,
                "the dataset cannot be made cold: " + std::to_string(total.resident) + " of its " +
                    std::to_string(total.all) + " pages stay in memory",
                {}, "measure on a file system backed by a disk, as the files' owner");
  }
}

Measurement measure(const std::shared_ptr<const Dataset>& dataset, const MeasureOptions& options) {
  LoaderOptions loader_options = options.loader;
  loader_options.decode = options.work == Work::kDecode;
  bring_to(options.cache, *dataset);

  Measurement result;
  const std::uint64_t disk_before = process_usage().disk_bytes;
  const Clock::time_point made = Clock::now();
  Loader loader(dataset, loader_options);
  const double cpu_before = process_usage().cpu_s;
  const Clock::time_point begin = Clock::now();
  Clock::time_point last = begin;
  std::uint64_t epoch = 0;
  loader.start_epoch(epoch);
  while (true) {
    const std::optional<Batch> batch = loader.next();
    if (!batch) {
      if (loader.steps() == 0 || result.seconds >= options.min_seconds) break;
      loader.start_epoch(++epoch);
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (result.images == 0) result.first_batch_s = seconds_between(made, now);
    result.batch_ms.push_back(seconds_between(last, now) * 1e3);
    result.images += static_cast<std::uint64_t>(batch->size());
    result.seconds = seconds_between(begin, now);
    last = now;
    if (enough(result, options)) break;
    if (options.stop.stop_requested())
      throw Error(ErrorKind::kInterrupted, "stopped; nothing was measured to the end");
  }
  const ProcessUsage after = process_usage();
  result.cpu_s = after.cpu_s - cpu_before;
  result.counters = loader.counters();
  result.bytes = result.counters.bytes;
  result.disk_bytes = after.disk_bytes - disk_before;
  result.shuffle = loader.shuffle_quality();
  if (options.cache == CacheState::kCold)
    prove_cold(*dataset, {result.images, result.bytes, result.disk_bytes});
  return result;
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  return {*min, percentile(values, 0.5), *max};
}

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = std::clamp(p, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - std::floor(place));
}

}  // namespace packhorse::reader
