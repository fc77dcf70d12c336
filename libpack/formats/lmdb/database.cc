#include "formats/lmdb/database.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "packhorse/file.h"

namespace packhorse::lmdb {

namespace {

// Bytes of samples in one transaction: bounds the dirty pages LMDB keeps in memory. Every commit
// copies the few pages on the way to the last leaf, so larger batches also make smaller files.
constexpr std::size_t kBatchBytes = 16u << 20;
constexpr std::size_t kMapStep = 256u << 20;
constexpr std::size_t kPage = 4096;

/// Where the mapping that holds `address` begins. LMDB maps its file from the start, in one piece,
/// but tells the address only for fixed maps; the kernel's own list of mappings does.
const std::byte* start_of_mapping(const void* address, const std::filesystem::path& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    std::istringstream fields(line);
    char dash = 0;
    fields >> std::hex >> begin >> dash >> end;
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    if (wanted >= begin && wanted < end) return reinterpret_cast<const std::byte*>(begin);
  }
  throw Error(ErrorKind::kIo, "cannot tell where LMDB mapped the file (no /proc/self/maps?)", path);
}

}  // namespace

DatabaseWriter::DatabaseWriter(const std::filesystem::path& path)
    : path_(path), temporary_(temporary_name(path)) {
  make_directories(path.parent_path());
  std::filesystem::remove(temporary_);
  MDB_env* raw = nullptr;
  check(mdb_env_create(&raw), "set up LMDB for", path_);
  env_.reset(raw);
  // No sync a commit: finish() syncs the file once, and nothing is published before.
  check(mdb_env_open(raw, temporary_.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0644),
        "create", temporary_);
}

DatabaseWriter::~DatabaseWriter() {
  txn_ = Txn();
  const bool published = !env_;
  env_.reset();
  std::error_code ignored;
  if (!published) {
    std::filesystem::remove(temporary_, ignored);
    std::filesystem::remove(path_.parent_path(), ignored);  // only if it is empty
  }
}

void DatabaseWriter::put(std::string_view key, std::initializer_list<Bytes> pieces) {
  std::size_t size = 0;
  for (const Bytes piece : pieces) size += piece.size();
  make_room(size);
  if (key.size() > static_cast<std::size_t>(mdb_env_get_maxkeysize(env_.get()))) {
    throw Error(ErrorKind::kUsage, "a key is too long for LMDB", path_, {}, std::string(key));
  }
  MDB_val name{key.size(), const_cast<char*>(key.data())};
  MDB_val value{size, nullptr};
  check(mdb_put(txn_.get(), database_, &name, &value, MDB_RESERVE | MDB_APPEND), "write to", path_);
  auto* out = static_cast<std::byte*>(value.mv_data);
  for (const Bytes piece : pieces) out = std::copy(piece.begin(), piece.end(), out);
  ++entries_;
}

std::string DatabaseWriter::finish(const Visit& visit) {
  if (txn_) commit();
  env_.reset();
  try {
    show(visit);
    return publish_file_hashed(temporary_, path_);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
    throw;
  }
}

/// Ends the running transaction, and has the kernel write it to the disk.
void DatabaseWriter::commit() {
  txn_.commit(path_);
  mdb_filehandle_t fd = -1;
  MDB_envinfo info{};
  if (mdb_env_get_fd(env_.get(), &fd) != MDB_SUCCESS ||
      mdb_env_info(env_.get(), &info) != MDB_SUCCESS)
    return;
  const std::uint64_t end = (info.me_last_pgno + 1) * kPage;
  start_write_back(fd, written_back_, end);
  written_back_ = end;
}

/// Starts a new transaction when the running one is full, and grows the map before LMDB can run
/// out of it, since a full map would cost the whole transaction.
void DatabaseWriter::make_room(std::size_t value_bytes) {
  const std::size_t cost = (value_bytes + 2 * kPage) / kPage * kPage + kPage;
  if (txn_ && batch_ + cost > room_) commit();
  if (!txn_) {
    MDB_envinfo info{};
    mdb_env_info(env_.get(), &info);
    room_ = std::max(kBatchBytes, cost);
    const std::size_t needed = (info.me_last_pgno + 1) * kPage + 2 * room_;
    const std::size_t map = (needed + kMapStep - 1) / kMapStep * kMapStep;
    if (map > info.me_mapsize)
      check(mdb_env_set_mapsize(env_.get(), map), "grow the map of", path_);
    txn_ = Txn(env_.get(), 0, path_);
    check(mdb_dbi_open(txn_.get(), nullptr, 0, &database_), "open the database in", path_);
    batch_ = 0;
  }
  batch_ += cost;
}

/// Looks at the finished file through its map, which is where it tells what lies where.
void DatabaseWriter::show(const Visit& visit) const {
  DatabaseReader reader(temporary_);
  if (reader.size() != entries_)
    throw Error(ErrorKind::kIo, "LMDB lost samples that were written", path_);
  const std::byte* map = nullptr;
  for (std::size_t i = 0; i < entries_; ++i) {
    const DatabaseReader::Entry entry = reader.read(i);
    // By the key: an empty value may begin where the map ends.
    if (map == nullptr) map = start_of_mapping(entry.key.data(), path_);
    visit(entry.key, entry.value, static_cast<std::uint64_t>(entry.value.data() - map));
  }
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

DatabaseReader::Entry DatabaseReader::read(std::size_t i) {
  // Where the cursor stands is asked for again, as two readings of one entry are common.
  MDB_val key{}, value{};
  if (i + 1 < next_) next_ = 0;
  if (i + 1 == next_) {
    check(mdb_cursor_get(cursor_.get(), &key, &value, MDB_GET_CURRENT), "walk", path_);
  }
  for (; next_ <= i; ++next_) {
    check(mdb_cursor_get(cursor_.get(), &key, &value, next_ == 0 ? MDB_FIRST : MDB_NEXT), "walk",
          path_);
  }
  return {{static_cast<const char*>(key.mv_data), key.mv_size},
          {static_cast<const std::byte*>(value.mv_data), value.mv_size}};
}

/// The meta page's magic, 0xBEEFC0DE, stands behind its 16-byte page header.
std::optional<std::string> first_key(const std::filesystem::path& path) {
  {
    const UniqueFd fd = open_for_reading(path);
    if (file_size(fd.get(), path) < 4096) return std::nullopt;
    std::byte magic[4];
    read_exactly(fd.get(), 16, magic, path);
    if (as_text(magic) != "\xde\xc0\xef\xbe") return std::nullopt;
  }
  try {
    DatabaseReader reader(path);
    return reader.size() == 0 ? std::string() : std::string(reader.read(0).key);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace packhorse::lmdb
