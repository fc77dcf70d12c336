#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "formats/lmdb/handles.h"
#include "packhorse/bytes.h"

/// What both layouts share: a database that is appended to, and one that is walked.
namespace packhorse::lmdb {

/// Appends keys and values to a new database. One thread.
class DatabaseWriter {
 public:
  /// Creates it under a temporary name. Throws Error(kIo | kNoSpace).
  explicit DatabaseWriter(const std::filesystem::path& path);
  /// Without finish(): removes it.
  ~DatabaseWriter();
  DatabaseWriter(const DatabaseWriter&) = delete;
  DatabaseWriter& operator=(const DatabaseWriter&) = delete;

  /// Appends a value of several pieces. Keys must come in byte order. Throws Error(kUsage) for a
  /// key that is too long.
  void put(std::string_view key, std::initializer_list<Bytes> pieces);

  /// Called for each key in order; `offset` is where the value lies in the file.
  using Visit = std::function<void(std::string_view key, Bytes value, std::uint64_t offset)>;
  /// Shows all of the database, syncs it and gives it its final name. Returns its SHA-256.
  std::string finish(const Visit& visit);

 private:
  void commit();
  void make_room(std::size_t value_bytes);
  void show(const Visit& visit) const;

  std::filesystem::path path_, temporary_;
  Env env_;
  Txn txn_;
  MDB_dbi database_ = 0;
  std::size_t batch_ = 0, room_ = 0, entries_ = 0;
  std::uint64_t written_back_ = 0;
};

/// Walks a finished database. One thread.
class DatabaseReader {
 public:
  /// Throws Error(kCorrupt) for a file that is cut or no database.
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
  std::filesystem::path path_;
  Env env_;
  Txn txn_;
  MDB_dbi database_ = 0;
  Cursor cursor_;
  std::size_t size_ = 0, next_ = 0;
};

/// The first key of an LMDB file, empty when it has none; nothing when `path` is no such file.
std::optional<std::string> first_key(const std::filesystem::path& path);

}  // namespace packhorse::lmdb
