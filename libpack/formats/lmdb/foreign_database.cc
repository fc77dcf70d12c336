#include "formats/lmdb/foreign_database.h"

#include <sys/mman.h>

namespace packhorse::lmdb {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kTouched = 8192;  // counted for a value whose bytes are not looked at

Env open_checked(const fs::path& path) {
  check_pages(path);
  return open_read_only(path);
}

}  // namespace

ForeignDatabase::ForeignDatabase(const fs::path& path)
    : path_(path),
      env_(open_checked(path)),
      txn_(env_.get(), MDB_RDONLY, path),
      file_bytes_(fs::file_size(path)) {
  check(mdb_dbi_open(txn_.get(), nullptr, 0, &database_), "open the database in", path);
  MDB_stat stat{};
  check(mdb_stat(txn_.get(), database_, &stat), "read", path);
  size_ = stat.ms_entries;
  MDB_cursor* raw = nullptr;
  check(mdb_cursor_open(txn_.get(), database_, &raw), "walk", path);
  cursor_.reset(raw);
  MDB_val key{}, value{};
  if (size_ == 0) return;
  check(mdb_cursor_get(raw, &key, &value, MDB_FIRST), "walk", path);
  map_ = start_of_map(key.mv_data, path);
}

ForeignDatabase::Entry ForeignDatabase::read(std::size_t i) {
  MDB_val key{}, value{};
  if (i < next_ / 2) next_ = 0;
  for (; i + 1 < next_; --next_)
    check(mdb_cursor_get(cursor_.get(), &key, &value, MDB_PREV), "walk", path_);
  if (i + 1 == next_)
    check(mdb_cursor_get(cursor_.get(), &key, &value, MDB_GET_CURRENT), "walk", path_);
  for (; next_ <= i; ++next_) {
    check(mdb_cursor_get(cursor_.get(), &key, &value, next_ == 0 ? MDB_FIRST : MDB_NEXT), "walk",
          path_);
    seen_bytes_ += kTouched;
  }
  const Bytes bytes{static_cast<const std::byte*>(value.mv_data), value.mv_size};
  count(bytes);
  return {{static_cast<const char*>(key.mv_data), key.mv_size}, bytes};
}

std::optional<Bytes> ForeignDatabase::find(std::string_view key) {
  MDB_val name{key.size(), const_cast<char*>(key.data())}, value{};
  const int code = mdb_get(txn_.get(), database_, &name, &value);
  if (code == MDB_NOTFOUND) return std::nullopt;
  check(code, "read", path_);
  const Bytes bytes{static_cast<const std::byte*>(value.mv_data), value.mv_size};
  count(bytes);
  return bytes;
}

ByteRange ForeignDatabase::place(Bytes value) const {
  const auto offset = static_cast<std::uint64_t>(value.data() - map_);
  if (offset > file_bytes_ || value.size() > file_bytes_ - offset)
    throw Error(ErrorKind::kCorrupt, "damaged LMDB: a value lies outside the file", path_);
  return {offset, value.size()};
}

/// Gives back the pages seen so far: they count as this process's memory, although the kernel could
/// drop them.
void ForeignDatabase::count(Bytes value) {
  seen_bytes_ += value.size();
  if (seen_bytes_ < kMostMapped) return;
  ::madvise(const_cast<std::byte*>(map_), file_bytes_, MADV_DONTNEED);
  seen_bytes_ = 0;
}

}  // namespace packhorse::lmdb
