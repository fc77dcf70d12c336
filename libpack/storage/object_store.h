#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/url.h"
#include "packhorse/base/bytes.h"
#include "packhorse/storage/remote.h"

/// Storage that hands out ranges of objects by their names: web servers, and everything that speaks
/// S3. Its answers are not trusted: lengths, ranges and tags are compared with the request. The
/// caller checks the bytes.
namespace packhorse {

struct ObjectInfo {
  std::uint64_t bytes = 0;
  std::string tag;  ///< the ETag as it is sent; empty when there is none
  std::string sha256 =
      {};  ///< the SHA-256 that write() stored with it; empty when another program stored it
};

struct ListedObject {
  std::string name;  ///< below the store's place
  std::uint64_t bytes = 0;
  std::string tag = {};  ///< as in ObjectInfo
};

/// A range of an object, and where its bytes go.
struct RangeRead {
  std::string name;           ///< below the store's place
  ByteRange range;            ///< its length is that of `into`, and not 0
  std::uint64_t of_bytes;     ///< the object's size; any other is an error
  std::string tag = {};       ///< an ETag it must have; empty: any
  std::span<std::byte> into;  ///< belongs to the store until `done` is called
};

/// An object to be stored.
struct ObjectWrite {
  std::string name;    ///< below the store's place
  Bytes content;       ///< lives until the call returns
  std::string sha256;  ///< of the content, in hexadecimal digits; stored with the object
};

/// Objects below one URL. Thread-safe. Requests obey the stop of the thread that makes or starts
/// them (base/stop.h): they end by Error(kInterrupted). Other errors are Error(kNotFound)
/// for what is not there, kIo for a storage that refuses or cannot be reached, and kCorrupt for
/// answers that are not what was asked for; path() is the object's URL without its query.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  virtual const Url& place() const = 0;
  /// Size and tag of an object.
  virtual ObjectInfo info(const std::string& name) = 0;
  /// A whole object. Throws Error(kCorrupt), too, when it has more than `most` bytes.
  virtual std::vector<std::byte> read(const std::string& name, std::uint64_t most) = 0;
  /// Starts to read a range. `done` is called once, in a thread of the store, with an exception of
  /// the kinds above or nullptr; it must neither block nor throw.
  virtual void start(const RangeRead& read, std::function<void(std::exception_ptr)> done) = 0;
  /// The same, waiting for it.
  virtual void read_range(const RangeRead& read);
  /// The objects below `prefix` ("" or "dir/"), sorted by name. A name may be any text; those that
  /// are not paths (is_inner_name()) cannot be read. More than `most` are an Error(kCorrupt).
  /// Throws Error(kUnsupported) where the storage cannot list (http).
  virtual std::vector<ListedObject> list(const std::string& prefix, std::size_t most) = 0;
  /// Names of the folders directly in the place: what keys have before a slash. As list()
  /// otherwise.
  virtual std::vector<std::string> folders(std::size_t most);
  /// Whether objects can be stored, if the user has the right to.
  virtual bool can_write() const { return false; }
  /// Stores an object, whole or not at all, and never in the place of another: returns false when
  /// the storage has one of this name, whatever it holds. Large ones go in parts, several at a
  /// time. Throws Error(kUnsupported) where nothing can be stored (http), and Error(kInterrupted).
  virtual bool write(const ObjectWrite& write);
  /// Ends unfinished uploads in parts under these names: of killed processes, or after a lost
  /// answer. Such parts cost money and are invisible. Call it when the objects are there: a process
  /// that is still storing one of them gets an error. If the storage cannot list unfinished
  /// uploads, they stay.
  virtual void end_uploads(const std::vector<std::string>& names);
  /// Removes an object, if there is one of this name. Throws as write() does.
  virtual void remove(const std::string& name);
  virtual StorageCounters counters() const = 0;
};

/// Opens the storage of a URL; nothing is sent yet. Stores of one process share its connections.
/// Throws Error(kUsage).
std::shared_ptr<ObjectStore> open_store(const Url& place, const StorageOptions& options = {});

}  // namespace packhorse
