#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/stream_file.h"
#include "formats/lmdb/handles.h"
#include "formats/lmdb/tree.h"
#include "packhorse/base/bytes.h"

/// What both layouts share: a database that is written, and one that is walked.
namespace packhorse::lmdb {

/// Writes a new database, key after key. One thread.
class DatabaseWriter {
 public:
  /// Creates the database under a temporary name. `meta_pages`: those it will most likely have,
  /// from a Tree of the same keys and sizes; empty when unknown. Throws Error(kIo | kNoSpace).
  DatabaseWriter(const std::filesystem::path& path, std::string meta_pages, Tree::Placed placed);
  /// Removes the database, unless finish() was called.
  ~DatabaseWriter();
  DatabaseWriter(const DatabaseWriter&) = delete;
  DatabaseWriter& operator=(const DatabaseWriter&) = delete;

  /// Appends a value of several pieces. Keys must come in byte order. Throws Error(kUsage) for a
  /// key or a value that is too long.
  void put(std::string_view key, std::initializer_list<Bytes> pieces,
           std::uint64_t tag = Tree::kNoTag);
  /// Syncs the database and gives it its final name. Returns its SHA-256.
  std::string finish();

 private:
  std::filesystem::path path_;
  std::string meta_pages_;
  std::optional<StreamFile> file_;
  Tree tree_;
};

/// Walks a finished database. One thread.
class DatabaseReader {
 public:
  /// Throws Error(kCorrupt) for a file that is cut or is no database.
  explicit DatabaseReader(const std::filesystem::path& path);

  struct Entry {
    std::string_view key;
    Bytes value;
  };
  /// Number of keys.
  std::size_t size() const { return size_; }
  /// Entry i < size() in the order of keys. Views live as long as the object. Going forward is
  /// cheap, going back starts over.
  Entry read(std::size_t i);

 private:
  void forget_pages(const std::byte* address);

  std::filesystem::path path_;
  Env env_;
  Txn txn_;
  MDB_dbi database_ = 0;
  Cursor cursor_;
  std::size_t size_ = 0, next_ = 0;
  const std::byte* map_ = nullptr;
  std::size_t map_bytes_ = 0, seen_bytes_ = 0;  ///< seen since the last forget_pages()
};

}  // namespace packhorse::lmdb
