#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "packhorse/base/bytes.h"

/// How this library sees a remote dataset. It speaks no protocol itself: a program that reads URLs
/// sets an opener with set_remote_opener() (packhorse/storage/remote.h).
namespace packhorse {

class ShardIndex;
struct ShardRecord;

/// The data file of a shard. Thread-safe.
class RemoteShard {
 public:
  virtual ~RemoteShard() = default;

  /// The bytes of a range, which must be inside the file. Waits until they are there. Without an
  /// owner they stay as long as the shard. Throws Error(kIo | kNotFound | kCorrupt).
  virtual BytesLease view(ByteRange range) = 0;
  /// Asks for a range that will be viewed soon, without waiting.
  virtual void prefetch(ByteRange range) = 0;
  /// Says that the bytes of a range are wrong: the next view() fetches them again.
  virtual void discard(ByteRange range) = 0;
  /// The share of the file that a view() need not wait for, 0 to 1.
  virtual double resident_share() const = 0;
  /// Drops everything that is kept only in memory: the next view() fetches it again.
  virtual void release() = 0;
};

struct RemoteFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t stamp = 0;  ///< differs when the file has changed
  std::string tag = {};    ///< for read()
};

/// Called with the next range, before any byte of it comes. May throw.
using RoomMaker = std::function<void(ByteRange)>;

/// The files of a dataset, or of a source. Thread-safe. All obey the stop of the calling thread
/// (base/stop.h).
class RemoteFiles {
 public:
  virtual ~RemoteFiles() = default;

  /// Whether there is such a file. Throws Error(kIo).
  virtual bool has(const std::string& name) = 0;
  /// A file of at most `most` bytes. Throws Error(kNotFound | kIo | kCorrupt).
  virtual std::string read_text(const std::string& name, std::uint64_t most) = 0;
  /// A local copy of a whole file, open for reading, whose size and SHA-256 have been compared.
  /// Throws Error(kNotFound | kIo | kNoSpace | kCorrupt).
  virtual UniqueFd open(const std::string& name, std::uint64_t bytes,
                        const std::string& sha256) = 0;
  /// What the storage says about a file. Throws Error(kNotFound | kIo).
  virtual RemoteFile look(const std::string& name) = 0;
  /// A whole file as it was listed. Throws Error(kCorrupt) when it is another one now,
  /// Error(kRejected) when it is larger than a file of a sample may be, and Error(kNotFound | kIo).
  virtual std::vector<std::byte> read(const RemoteFile& file) = 0;
  /// Fills `into`, which is as large as the file, with the file as the storage has it now: without
  /// the cache and without a comparison. No byte of `into` is written before `make_room`, which may
  /// be null, was told its range, in the calling thread. `take` gets its pieces in their order,
  /// each when all before it are there, in the calling thread. Throws Error(kNotFound | kIo |
  /// kCorrupt), and Error(kInterrupted) when a stop is requested.
  virtual void copy(const std::string& name, std::span<std::byte> into, const RoomMaker& make_room,
                    const std::function<void(Bytes)>& take) = 0;
  /// `index` says where samples lie, so that their bytes can be checked as they come; it must
  /// outlive the shard.
  virtual std::unique_ptr<RemoteShard> open_shard(const ShardRecord& record,
                                                  const ShardIndex& index) = 0;
  /// Whether a cache can hold so many bytes.
  virtual bool keeps(std::uint64_t bytes) const = 0;
  /// Whether files can be stored, if the user has the right to.
  virtual bool can_store() const = 0;
  /// Stores a copy of the local file `from`, whose SHA-256 is `sha256`: whole or not at all, and
  /// never in the place of another; returns false when there is a file of this name. Throws
  /// Error(kIo | kUnsupported | kCorrupt | kInterrupted).
  virtual bool store(const std::string& name, const std::filesystem::path& from,
                     const std::string& sha256) = 0;
  /// Ends unfinished uploads that store() has begun under these names. Call it when the files are
  /// there.
  virtual void end_uploads(const std::vector<std::string>& names) = 0;
  /// Whether there is a file that store() has stored with this size and SHA-256. Throws Error(kIo).
  virtual bool holds(const std::string& name, std::uint64_t bytes, const std::string& sha256) = 0;
  /// Removes a file, if it is there. Throws Error(kIo | kUnsupported).
  virtual void remove(const std::string& name) = 0;
  /// Whether list() can be called: web servers cannot say what they hold.
  virtual bool can_list() const = 0;
  /// All files, sorted by name; Error(kCorrupt) when there are more than `most`. Throws Error(kIo |
  /// kUnsupported).
  virtual std::vector<RemoteFile> list(std::size_t most) = 0;
  /// Names of the places directly below that hold a dataset: splits.
  virtual std::vector<std::string> splits() = 0;
};

/// Opens the files below a URL. Throws Error(kUsage | kIo).
using RemoteOpener = std::shared_ptr<RemoteFiles> (*)(const std::string& url);
/// From then on, datasets at URLs are opened by `opener`; nullptr: they are refused. Call it before
/// other threads open datasets.
void set_remote_opener(RemoteOpener opener);

/// The files of a URL; nullptr if `path` is not a URL. Throws Error(kUsage) for a URL without an
/// opener.
std::shared_ptr<RemoteFiles> open_remote(const std::filesystem::path& path);

}  // namespace packhorse
