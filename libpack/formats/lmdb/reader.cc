#include "formats/lmdb/handles.h"
#include "formats/lmdb/layout.h"
#include "formats/lmdb/lmdb.h"
#include "formats/lmdb/open.h"
#include "packhorse/file.h"

namespace packhorse::lmdb {

namespace {

class Reader final : public ShardReader {
 public:
  explicit Reader(const std::filesystem::path& path)
      : path_(path), env_(open_read_only(path)), txn_(env_.get(), MDB_RDONLY, path) {
    check(mdb_dbi_open(txn_.get(), nullptr, 0, &database_), "open the database in", path);
    MDB_stat stat{};
    check(mdb_stat(txn_.get(), database_, &stat), "read", path);
    size_ = stat.ms_entries;
    MDB_cursor* raw = nullptr;
    check(mdb_cursor_open(txn_.get(), database_, &raw), "walk", path);
    cursor_.reset(raw);
  }

  std::size_t size() const override { return size_; }

  StoredSample read(std::size_t i) override {
    MDB_val key{}, value{};
    if (i < next_) next_ = 0;
    for (; next_ <= i; ++next_) {
      check(mdb_cursor_get(cursor_.get(), &key, &value, next_ == 0 ? MDB_FIRST : MDB_NEXT), "walk",
            path_);
    }
    const Datum datum = parse_datum({static_cast<const std::byte*>(value.mv_data), value.mv_size});
    return {std::string(static_cast<const char*>(key.mv_data), key.mv_size), datum.label,
            datum.image};
  }

 private:
  std::filesystem::path path_;
  Env env_;
  Txn txn_;
  MDB_dbi database_ = 0;
  Cursor cursor_;
  std::size_t size_ = 0, next_ = 0;
};

/// The meta page's magic, 0xBEEFC0DE, stands behind its 16-byte page header.
bool probe(const std::filesystem::path& path) {
  const UniqueFd fd = open_for_reading(path);
  if (file_size(fd.get(), path) < 4096) return false;
  std::byte magic[4];
  read_exactly(fd.get(), 16, magic, path);
  return as_text(magic) == "\xde\xc0\xef\xbe";
}

}  // namespace

std::unique_ptr<ShardReader> open_reader(const std::filesystem::path& path) {
  return std::make_unique<Reader>(path);
}

const Format kFormat = {
    "lmdb",
    kSuffix,
    "LMDB with Caffe Datum values, read by Caffe, DALI, any LMDB binding",
    {},
    kVersion,
    false,
    8192,
    probe,
    open_writer,
    open_reader,
    [] { return std::string(mdb_version(nullptr, nullptr, nullptr)); },
};

}  // namespace packhorse::lmdb
