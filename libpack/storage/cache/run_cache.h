#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/file.h"
#include "packhorse/base/bytes.h"
#include "packhorse/base/mapped_file.h"

/// Copies of parts of remote files on a local disk, shared by all processes of a node. A file is
/// known by its SHA-256, so that the same bytes have one copy whatever they are called:
///
///     DIR/packhorse-cache.json    what it is: version, and the bytes it may hold, and holds
///     DIR/ab/ab12....data         sparse, of the whole size, with the runs that are there
///     DIR/ab/ab12....runs         a header, and a byte for each run: 0 absent, 1 there
///
/// A run is kRunBytes of the file; the last one is shorter. Whoever claims a run is its only writer
/// in all processes, and the claim goes with its process (a lock of an open file description on the
/// run's byte). Whoever has a file open holds a lease on it, which keeps it from being evicted.
/// Nothing is ever read, replaced or removed that the cache has not made. docs/formats/cache.md
/// draws the files.
///
/// After fork(), a child may use what its parent has open: its claims are its own.
namespace packhorse {

inline constexpr std::uint64_t kRunBytes = std::uint64_t{4} << 20;

class RunCache;

/// One file in the cache, open and leased. Thread-safe.
class CachedFile {
 public:
  ~CachedFile();
  CachedFile(const CachedFile&) = delete;
  CachedFile& operator=(const CachedFile&) = delete;

  std::uint64_t bytes() const;
  std::size_t runs() const;
  ByteRange range_of(std::size_t run) const;
  /// Opens the data file for reading once more: for files all of whose runs are there. What is
  /// opened stays readable when the file is evicted.
  UniqueFd open_data() const;
  /// The whole file, mapped. Only runs that are there may be looked at.
  const MappedFile& data() const;

  bool has(std::size_t run) const;
  enum class Claim : std::uint8_t {
    kThere,    ///< it is in the cache
    kMine,     ///< the caller must write() or give_up() it
    kOthers,   ///< another thread or process is at it: wait_for() it
    kNoSpace,  ///< the cache is full of files that are in use
  };
  Claim claim(std::size_t run);
  /// Stores a claimed run, of which the caller knows that the bytes are right, and ends the claim.
  /// A full disk is no error: it ends the claim, and returns false. Throws Error(kIo).
  bool write(std::size_t run, Bytes bytes);
  void give_up(std::size_t run);
  /// Waits until nobody is at the run, or for as long. True when it is there then.
  bool wait_for(std::size_t run, std::chrono::milliseconds most);
  /// Forgets a run whose bytes turned out to be damaged: it is then absent for all.
  void forget(std::size_t run);

 private:
  friend class RunCache;
  struct State;
  explicit CachedFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct CacheEntry {
  std::string sha256;
  std::uint64_t bytes = 0;   ///< of the whole file
  std::uint64_t stored = 0;  ///< of the runs that are there
  bool leased = false;       ///< some process has it open
  std::int64_t used = 0;     ///< when it was opened last, in seconds since 1970
};

/// A cache directory. Thread-safe.
class RunCache {
 public:
  /// Makes the directory if it is missing. `most`: the bytes that runs may take together, for all
  /// processes, at least one run; the last one to open the cache decides. Runs under way count.
  /// Throws Error(kUsage) for a directory that holds something else, or belongs to another user;
  /// kUnsupported for one of a later version; kIo, kNoSpace.
  RunCache(std::filesystem::path directory, std::uint64_t most);
  /// Opens a cache that is there, with the limit it has. Throws Error(kNotFound), too.
  explicit RunCache(std::filesystem::path directory);
  ~RunCache();

  /// Opens the copy of a file, which is made if there is none, and evicts others, those opened
  /// least recently first, as long as the cache holds more than it may; claim() evicts, too. Throws
  /// Error(kIo), also when others have the file open with another size; kNoSpace; kUnsupported for
  /// more than 16 TiB.
  std::shared_ptr<CachedFile> open(const std::string& sha256, std::uint64_t bytes);
  std::vector<CacheEntry> entries() const;
  /// Removes what nobody has open: all of it, or one file. Returns the bytes that became free.
  std::uint64_t clear(const std::optional<std::string>& sha256 = {});
  /// Reads each file that is there completely and compares it with its SHA-256: forgets the runs of
  /// those that differ or cannot be read. Returns the hashes of these. Throws
  /// Error(kIo | kInterrupted).
  std::vector<std::string> verify(const std::stop_token& stop = {});

  const std::filesystem::path& directory() const;
  std::uint64_t most() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace packhorse
