#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "packhorse/base/option.h"
#include "packhorse/storage/object_store.h"

/// Lets a program open packed datasets at URLs wherever it opens them at paths:
///
///     enable_remote({});
///     const PackedDataset train("s3://bucket/packed/train");
namespace packhorse {

struct RemoteOptions {
  StorageOptions storage = {};
  /// Where parts of files are kept (docs/remote.md); empty: in memory alone.
  std::filesystem::path cache = {};
  std::uint64_t cache_bytes = std::uint64_t{50} << 30;
  /// The memory for fetched bytes if there is no cache, or it is full. In both cases as much may be
  /// requested ahead.
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;

  /// Throws Error(kUsage).
  void validate() const;
};

/// A row for each option that programs offer their users.
using RemoteOption = OptionOf<RemoteOptions>;
std::span<const RemoteOption> remote_options();

/// Counters of all remote datasets of the process so far.
struct RemoteCounters {
  StorageCounters storage = {};
  std::uint64_t runs_fetched = 0;
  std::uint64_t runs_found = 0;  ///< in the cache already, when their file was opened
  std::uint64_t damaged = 0;     ///< pieces that were not the right bytes, and were fetched again
  std::uint64_t waits = 0, wait_ns = 0;  ///< of threads that needed missing bytes
};

/// What has come since `before`.
RemoteCounters operator-(const RemoteCounters& now, const RemoteCounters& before);

/// From then on datasets at http, https and s3 URLs are opened with these options; a URL with a
/// query, which may be a secret, is refused. Call it once, before other threads open datasets, as
/// a program does at its start. Throws Error(kUsage).
void enable_remote(const RemoteOptions& options);
RemoteCounters remote_counters();

}  // namespace packhorse
