#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "formats/lmdb/handles.h"
#include "packhorse/base/bytes.h"

namespace packhorse::lmdb {

/// A database that others made, checked page by page before it is opened. One thread.
class ForeignDatabase {
 public:
  /// Throws Error(kCorrupt | kUnsupported).
  explicit ForeignDatabase(const std::filesystem::path& path);

  struct Entry {
    std::string_view key;
    Bytes value;
  };
  std::size_t size() const { return size_; }
  /// Entry i < size() in the order of keys. Views live until the next read() or find(). Neighbours
  /// of the last entry read are cheap.
  Entry read(std::size_t i);
  std::optional<Bytes> find(std::string_view key);
  /// Where a value that was read lies in the file.
  ByteRange place(Bytes value) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  void count(Bytes value);

  std::filesystem::path path_;
  Env env_;
  Txn txn_;
  MDB_dbi database_ = 0;
  Cursor cursor_;
  std::size_t size_ = 0, next_ = 0;
  const std::byte* map_ = nullptr;
  std::uint64_t file_bytes_ = 0, seen_bytes_ = 0;
};

/// Walks the tree of a database that others made, before LMDB's library does. The library trusts
/// the numbers in its pages: a page number that leads out of the file, a node that leaves its page,
/// or a page that is its own child would crash the process. pages.h draws the pages; here they may
/// have any size that LMDB takes.
///
/// Throws Error(kCorrupt) for any of these and for keys that are not strictly increasing;
/// Error(kUnsupported) for several values per key, named databases, and other orders of keys.
void check_pages(const std::filesystem::path& path);

}  // namespace packhorse::lmdb
