#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// Lets a program open packed datasets at URLs wherever it opens them at paths:
///
///     enable_remote({});
///     const PackedDataset train("s3://bucket/packed/train");
namespace packhorse {

/// How storage is spoken to. The defaults fit object storage.
struct StorageOptions {
  /// Requests that may be under way at once. They are found by trying, up to this.
  int most_requests = 64;
  /// A request that gets no byte for so long is repeated; so is one that has taken 30 times as long
  /// and moved less than 1 KiB a second beyond that.
  std::chrono::milliseconds stall{20'000};
  std::chrono::milliseconds connect{10'000};
  /// Repetitions of one request after 429, 5xx, a broken connection or a stall, and the time that
  /// all of them may take together.
  int retries = 8;
  std::chrono::milliseconds retry_time{120'000};
  /// s3: where buckets are, if not at AWS ("http://localhost:8333"), and the region they are in.
  /// Empty: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION and AWS_DEFAULT_REGION, or the
  /// profile.
  std::string endpoint = {}, region = {};
  /// s3: send requests without a signature, for public buckets.
  bool anonymous = false;
  /// s3: pay for requests and transfer, as buckets with "requester pays" want it.
  bool requester_pays = false;
  /// A command that prints a URL (and nothing else) for an object's name, its last argument: for
  /// URLs that somebody else signs. Run without a shell; empty: none.
  std::vector<std::string> url_command = {};

  /// Throws Error(kUsage).
  void validate() const;
};

/// What requests have come to so far.
struct StorageCounters {
  std::uint64_t requests = 0;  ///< sent, those repeated included
  std::uint64_t retries = 0;
  std::uint64_t bytes = 0;    ///< of bodies received, of requests that failed, too
  std::uint64_t failed = 0;   ///< given up
  std::uint64_t wait_ns = 0;  ///< from first sending to the last byte, of all requests together
};

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

/// Where parts of remote files are kept unless a program says otherwise: $XDG_CACHE_HOME/packhorse,
/// or ~/.cache/packhorse, by the environment at the time of the call; empty when neither is known.
std::filesystem::path default_cache_directory();

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
///
/// Reads the environment, then and at requests: AWS_* as its command line tools do (region, keys,
/// profile, endpoints, services of containers and instances), HOME for its files, SSL_CERT_FILE,
/// CURL_CA_BUNDLE and AWS_CA_BUNDLE, and what libcurl reads (proxies). Changes none of it; no other
/// thread may change it meanwhile.
void enable_remote(const RemoteOptions& options);
RemoteCounters remote_counters();

}  // namespace packhorse
