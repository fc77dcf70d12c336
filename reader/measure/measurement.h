#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "measure/cpu_load.h"
#include "packhorse/reader/loader.h"

/// Measures how fast a dataset is read, for `packhorse bench` and `packhorse-train measure`.
namespace packhorse::reader {

enum class Work { kRead, kDecode };
enum class CacheState { kAsIs, kWarm, kCold };

struct MeasureOptions {
  Work work = Work::kDecode;
  CacheState cache = CacheState::kWarm;
  LoaderOptions loader = {};
  std::uint64_t max_samples = 0;  ///< 0 = the whole epoch
  double max_seconds = 0;         ///< 0 = no limit
  double min_seconds = 0;  ///< further epochs until then: a small set read once is only noise
  /// Minimum length as a multiple of the time that the first batch took, whatever `max_seconds`
  /// says: storage that is prefetched from delivers in bursts. 0 = none.
  double min_first_batches = 0;
  /// Number of first batches left out of the timing of a pass that `max_seconds` ends. Prefetching
  /// fills up during them, so the rest stands for the steady state. A pass to an epoch's end is
  /// timed whole.
  std::size_t warmup_batches = 0;
  /// Bytes that the disk has delivered so far. Empty: from /proc/self/io.
  std::function<std::uint64_t()> disk_bytes = {};
  std::stop_token stop = {};  ///< ends the pass with Error(kInterrupted)
};

/// One timed pass. Times begin at start_epoch(), when threads and slots exist.
struct Measurement {
  std::uint64_t images = 0;
  std::uint64_t warmup_images = 0;  ///< images before those, not timed
  double seconds = 0;
  double first_batch_s = 0;   ///< from making the loader to the first batch
  double cpu_s = 0;           ///< user + system time of the process
  std::uint64_t bytes = 0;    ///< stored bytes read
  std::uint64_t objects = 0;  ///< delivered with the images, where targets are read
  std::uint64_t disk_bytes =
      0;  ///< delivered by the disk, warm-up included; 0 without /proc/self/io
  std::vector<double> batch_ms;  ///< time between batches
  LoaderCounters counters;
  ShuffleQuality shuffle;  ///< of the last epoch
  CpuLoad load;            ///< warm-up included
  double images_per_s() const { return seconds > 0 ? static_cast<double>(images) / seconds : 0; }
};

/// Makes one pass over an epoch, or several with `min_seconds` (not with kCold: later epochs are
/// warm). kWarm reads every file once beforehand. kCold drops the files from the page cache, checks
/// with mincore that they are gone, and checks afterwards that the disk delivered 9 of 10 bytes
/// that were read. A limit ends the pass after the batch that reaches it. Throws
/// Error(kUnsupported) when the files cannot be made cold, or were not; kInterrupted.
Measurement measure(const std::shared_ptr<const Dataset>& dataset, const MeasureOptions& options);

/// make_warm() brings a dataset's files into the page cache. make_cold() drops them from it, with
/// their names and inodes where possible; it throws Error(kUnsupported) when more than 1 % of the
/// dataset's pages stay, as on a tmpfs, or in a file that another process has mapped.
void make_warm(const Dataset& dataset);
/// Like make_warm(), but drops what is already in the page cache, as far as possible, and reads it
/// again. The way a file was read decides the size of the pieces that the page cache holds, and
/// reading it through a mapping is slower from small ones.
void load_afresh(const Dataset& dataset);
void make_cold(const Dataset& dataset);
/// Whether this process may make the kernel forget names and inodes. The superuser may, for all
/// files of the machine. Where they stay, finding a file is not cold, which favours many small
/// files.
bool can_drop_names();

/// Resources that this process has used since it began.
struct ProcessUsage {
  double cpu_s = 0;              ///< user and system
  std::uint64_t disk_bytes = 0;  ///< it made the disks read: read-ahead counts, the page cache does
                                 ///< not; 0 without /proc/self/io
};
ProcessUsage process_usage();

/// What a cold pass read, in one epoch or several, each of them cold, and what the disk delivered
/// for it.
struct ColdPass {
  std::uint64_t images = 0, bytes = 0, disk_bytes = 0;
};
/// Throws Error(kUnsupported) unless the disk delivered 9 of 10 bytes of a whole epoch, or half of
/// the bytes of part of an epoch.
void prove_cold(const Dataset& dataset, const ColdPass& pass);

struct Spread {
  double min = 0, median = 0, max = 0;
};
/// Returns zeros for no values.
Spread spread_of(std::vector<double> values);
/// Linear interpolation between order statistics; p in [0, 1]. 0 for no values.
double percentile(std::vector<double> values, double p);

}  // namespace packhorse::reader
