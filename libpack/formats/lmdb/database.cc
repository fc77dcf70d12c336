#include "formats/lmdb/database.h"

#include <sys/mman.h>

#include <utility>

#include "base/file.h"

namespace packhorse::lmdb {

namespace {}  // namespace

DatabaseWriter::DatabaseWriter(const std::filesystem::path& path, std::string meta_pages,
                               Tree::Placed placed)
    : path_(path),
      meta_pages_(std::move(meta_pages)),
      tree_([this](Bytes bytes) { file_->write(bytes); }, std::move(placed)) {
  make_directories(path.parent_path());
  const bool known = !meta_pages_.empty();
  file_.emplace(path, known ? StreamFile::Front::kFinal : StreamFile::Front::kProvisional);
  meta_pages_.resize(kMetaPages * kPageBytes);
  file_->write(as_bytes(meta_pages_));
}

DatabaseWriter::~DatabaseWriter() {
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(path_.parent_path(), ignored);  // only if it is empty
}

void DatabaseWriter::put(std::string_view key, std::initializer_list<Bytes> pieces,
                         std::uint64_t tag) {
  std::uint64_t size = 0;
  for (const Bytes piece : pieces) size += piece.size();
  if (key.size() > kMaxKeyBytes || size > kMaxValueBytes) {
    throw Error(ErrorKind::kUsage,
                key.size() > kMaxKeyBytes ? "a key is too long for LMDB"
                                          : "a sample is too large for LMDB, whose limit is 4 GiB",
                path_, {}, std::string(key));
  }
  tree_.add(key, size, pieces, tag);
}

std::string DatabaseWriter::finish() {
  std::string meta_pages = tree_.finish();
  if (meta_pages != meta_pages_) file_->replace(0, std::move(meta_pages));
  return file_->commit();
}

DatabaseReader::DatabaseReader(const std::filesystem::path& path)
    : path_(path), env_(open_read_only(path)), txn_(env_.get(), MDB_RDONLY, path) {
  check(mdb_dbi_open(txn_.get(), nullptr, 0, &database_), "open the database in", path);
  MDB_stat stat{};
  check(mdb_stat(txn_.get(), database_, &stat), "read", path);
  size_ = stat.ms_entries;
  MDB_cursor* raw = nullptr;
  check(mdb_cursor_open(txn_.get(), database_, &raw), "walk", path);
  cursor_.reset(raw);
}

/// Gives back the pages walked so far: all of them count as this process's memory, although the
/// kernel could drop them.
void DatabaseReader::forget_pages(const std::byte* address) {
  if (map_ == nullptr) {
    map_ = start_of_map(address, path_);
    map_bytes_ = std::filesystem::file_size(path_);
  }
  ::madvise(const_cast<std::byte*>(map_), map_bytes_, MADV_DONTNEED);
  seen_bytes_ = 0;
}

DatabaseReader::Entry DatabaseReader::read(std::size_t i) {
  // Asks for the cursor's own place again, since reading an entry twice is common.
  MDB_val key{}, value{};
  if (i + 1 < next_) next_ = 0;
  if (i + 1 == next_) {
    check(mdb_cursor_get(cursor_.get(), &key, &value, MDB_GET_CURRENT), "walk", path_);
  }
  for (; next_ <= i; ++next_) {
    check(mdb_cursor_get(cursor_.get(), &key, &value, next_ == 0 ? MDB_FIRST : MDB_NEXT), "walk",
          path_);
  }
  seen_bytes_ += value.mv_size + kPageBytes;
  if (seen_bytes_ > kMostMapped) forget_pages(static_cast<const std::byte*>(key.mv_data));
  return {{static_cast<const char*>(key.mv_data), key.mv_size},
          {static_cast<const std::byte*>(value.mv_data), value.mv_size}};
}

}  // namespace packhorse::lmdb
