#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "packhorse/base/bytes.h"
#include "storage/cache/run_cache.h"

/// The file that says which runs of a remote file are in the cache. Numbers are little-endian:
///
///      0  magic "PHRUNS01"                                     8
///      8  version, 1                                         u32
///     12  size of this header, 96                            u32
///     16  bytes of a run, 4 MiB                              u64
///     24  bytes of the remote file                           u64
///     32  its SHA-256                                         32
///     64  XXH3-64 of the 64 bytes before                     u64
///     72  when it was opened last, nanoseconds since 1970    i64
///     80  reserved, zero                                      16
///     96  a byte for each run: 0 absent, 1 there
///
/// Locks (byte_locks.h): byte 0 is held shared by everyone who has the file open, which is the
/// lease; byte 1 is held alone by whoever is about to open it; and a run's own byte by whoever
/// fetches the run.
///
/// A run's byte is set after its bytes were written, in that order for all processes. A power cut
/// keeps no such order: it may leave a run that counts as there, and whose bytes are zeros. So the
/// byte is no proof, and readers check the bytes of each sample they take; a run that fails is
/// forgotten and fetched again.
namespace packhorse {

inline constexpr std::size_t kRunsHeaderBytes = 96;
inline constexpr std::size_t kUsedOffset = 72;
inline constexpr ByteRange kLease{0, 1}, kOpening{1, 1};
/// Far beyond any shard; a file's size comes from a manifest.
inline constexpr std::uint64_t kMostCachedBytes = std::uint64_t{1} << 44;

struct RunsHeader {
  std::string sha256;
  std::uint64_t bytes = 0;
  std::int64_t used_ns = 0;
};

constexpr std::size_t runs_of(std::uint64_t bytes) {
  return static_cast<std::size_t>((bytes + kRunBytes - 1) / kRunBytes);
}
constexpr ByteRange run_range(std::uint64_t bytes, std::size_t run) {
  const std::uint64_t begin = run * kRunBytes;
  return {begin, begin + kRunBytes < bytes ? kRunBytes : bytes - begin};
}
constexpr ByteRange byte_of_run(std::size_t run) { return {kRunsHeaderBytes + run, 1}; }

std::array<std::byte, kRunsHeaderBytes> runs_header_bytes(const RunsHeader& header);

/// Reads the begin of a .runs file of `file_bytes` bytes. Nothing when it is not one: too short,
/// another magic, version or run size, a wrong checksum, a size that does not fit its runs.
std::optional<RunsHeader> parse_runs_header(Bytes begin, std::uint64_t file_bytes);

}  // namespace packhorse
