#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "formats/key_order.h"
#include "formats/lmdb/handles.h"
#include "formats/lmdb/layout.h"
#include "formats/lmdb/open.h"
#include "packhorse/file.h"

namespace packhorse::lmdb {

namespace {

// Bytes of samples in one transaction: bounds the dirty pages LMDB keeps in memory. Every commit
// copies the few pages on the way to the last leaf, so larger batches also make smaller files.
constexpr std::size_t kBatchBytes = 16u << 20;
constexpr std::size_t kMapStep = 256u << 20;

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

class Writer final : public ShardWriter {
 public:
  explicit Writer(const std::filesystem::path& path)
      : path_(path), temporary_(temporary_name(path)) {
    make_directories(path.parent_path());
    std::filesystem::remove(temporary_);
    MDB_env* raw = nullptr;
    check(mdb_env_create(&raw), "set up LMDB for", path_);
    env_.reset(raw);
    // No sync a commit: close() syncs once, and nothing is published before.
    check(mdb_env_open(raw, temporary_.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0644),
          "create", temporary_);
  }

  ~Writer() override {
    txn_ = Txn();
    const bool published = !env_;
    env_.reset();
    std::error_code ignored;
    if (!published) {
      std::filesystem::remove(temporary_, ignored);
      std::filesystem::remove(path_.parent_path(), ignored);  // only if it is empty
    }
  }

  void add(const Sample& sample) override {
    if (sample.label < 0 || sample.label > std::numeric_limits<std::int32_t>::max()) {
      throw Error(ErrorKind::kUsage, "a Datum cannot hold this label", path_, {},
                  std::string(sample.key));
    }
    order_.check(sample.key, path_);
    const DatumFrame frame = frame_datum(sample.bytes.size(), sample.label);
    const std::size_t size = frame.head.size() + sample.bytes.size() + frame.tail.size();
    make_room(size);
    MDB_val key{sample.key.size(), const_cast<char*>(sample.key.data())};
    MDB_val value{size, nullptr};
    check(mdb_put(txn_.get(), database_, &key, &value, MDB_RESERVE | MDB_APPEND), "write to",
          path_);
    auto* out = static_cast<char*>(value.mv_data);
    std::memcpy(out, frame.head.data(), frame.head.size());
    out += frame.head.size();
    std::memcpy(out, sample.bytes.data(), sample.bytes.size());
    std::memcpy(out + sample.bytes.size(), frame.tail.data(), frame.tail.size());
    ++samples_;
  }

  ShardLayout close() override {
    if (txn_) txn_.commit(path_);
    check(mdb_env_sync(env_.get(), 1), "sync", path_);
    env_.reset();
    try {
      std::vector<ByteRange> ranges = locate();
      publish_file(temporary_, path_);
      return {std::move(ranges), {}, {}, {}};
    } catch (...) {
      std::error_code ignored;
      std::filesystem::remove(temporary_, ignored);
      throw;
    }
  }

 private:
  /// Starts a new transaction when the running one is full, and grows the map before LMDB can run
  /// out of it, since a full map would cost the whole transaction.
  void make_room(std::size_t value_bytes) {
    constexpr std::size_t kPage = 4096;
    const std::size_t cost = (value_bytes + 2 * kPage) / kPage * kPage + kPage;
    if (txn_ && batch_ + cost > room_) txn_.commit(path_);
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

  /// Where LMDB put the images, by looking at the finished file through its map.
  std::vector<ByteRange> locate() const {
    std::vector<ByteRange> ranges;
    ranges.reserve(samples_);
    const Env env = open_read_only(temporary_);
    const Txn txn(env.get(), MDB_RDONLY, path_);
    MDB_dbi database = 0;
    check(mdb_dbi_open(txn.get(), nullptr, 0, &database), "open the database in", path_);
    MDB_cursor* raw = nullptr;
    check(mdb_cursor_open(txn.get(), database, &raw), "walk", path_);
    const Cursor cursor(raw);
    MDB_val key{}, value{};
    const std::byte* map = nullptr;
    while (mdb_cursor_get(raw, &key, &value, MDB_NEXT) == MDB_SUCCESS) {
      const Datum datum =
          parse_datum({static_cast<const std::byte*>(value.mv_data), value.mv_size});
      if (map == nullptr) map = start_of_mapping(datum.image.data(), path_);
      ranges.push_back({static_cast<std::uint64_t>(datum.image.data() - map), datum.image.size()});
    }
    if (ranges.size() != samples_)
      throw Error(ErrorKind::kIo, "LMDB lost samples that were written", path_);
    return ranges;
  }

  std::filesystem::path path_, temporary_;
  KeyOrder order_;
  Env env_;
  Txn txn_;
  MDB_dbi database_ = 0;
  std::size_t batch_ = 0, room_ = 0, samples_ = 0;
};

}  // namespace

std::unique_ptr<ShardWriter> open_writer(const std::filesystem::path& path, const ShardSpec&) {
  return std::make_unique<Writer>(path);
}

}  // namespace packhorse::lmdb
