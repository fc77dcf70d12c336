#include <cstring>
#include <random>

#include "base/file.h"
#include "formats/lmdb/foreign.h"
#include "formats/lmdb/foreign_database.h"
#include "formats/lmdb/pages.h"
#include "support/support.h"

namespace packhorse::lmdb {

namespace {

using test::kind_of_error;
using test::TemporaryDirectory;

/// 300 small values and 20 on pages of their own.
std::filesystem::path write_database(const TemporaryDirectory& directory, unsigned flags = 0) {
  std::filesystem::path path = directory / "data.mdb";
  MDB_env* raw = nullptr;
  REQUIRE(mdb_env_create(&raw) == MDB_SUCCESS);
  const Env env(raw);
  REQUIRE(mdb_env_open(raw, path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK, 0644) == MDB_SUCCESS);
  Txn txn(raw, 0, path);
  MDB_dbi database = 0;
  REQUIRE(mdb_dbi_open(txn.get(), nullptr, flags, &database) == MDB_SUCCESS);
  for (int i = 0; i < 320; ++i) {
    std::string key = "key-" + std::to_string(i), value(i % 16 == 0 ? 9000 : 100, 'x');
    if (flags != 0) value.resize(100);
    MDB_val k{key.size(), key.data()}, v{value.size(), value.data()};
    REQUIRE(mdb_put(txn.get(), database, &k, &v, 0) == MDB_SUCCESS);
  }
  txn.commit(path);
  return path;
}

}  // namespace

TEST_CASE("foreign lmdb: a whole database passes, and every value is found where it lies") {
  const TemporaryDirectory directory;
  const auto path = write_database(directory);
  CHECK_NOTHROW(check_pages(path));
  ForeignDatabase database(path);
  REQUIRE(database.size() == 320);
  const std::vector<std::byte> file = read_file(path);
  for (const std::size_t i : {0u, 319u, 17u, 16u, 15u, 200u}) {  // forwards and backwards
    const ForeignDatabase::Entry entry = database.read(i);
    const ByteRange place = database.place(entry.value);
    CHECK(as_text(Bytes(file).subspan(place.offset, place.length)) == as_text(entry.value));
    CHECK(as_text(*database.find(std::string(entry.key))) == as_text(entry.value));
  }
  CHECK_FALSE(database.find("none").has_value());
}

TEST_CASE("foreign lmdb: several values a key are refused") {
  const TemporaryDirectory directory;
  const auto path = write_database(directory, MDB_DUPSORT);
  CHECK(kind_of_error([&] { check_pages(path); }) == ErrorKind::kUnsupported);
}

TEST_CASE("foreign lmdb: damaged pages are told before the library sees them") {
  const TemporaryDirectory directory;
  const auto path = write_database(directory);
  const std::vector<std::byte> whole = read_file(path);
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::byte> damaged = whole;
    for (int i = 0; i < 20; ++i) {
      const std::size_t page = random() % (whole.size() / 4096);
      damaged[page * 4096 + random() % 64] = static_cast<std::byte>(random() % 256);
    }
    write_plain_file(directory / ("d" + std::to_string(round)), damaged);
    const auto file = directory / ("d" + std::to_string(round));
    try {
      ForeignDatabase database(file);
      for (std::size_t i = 0; i < database.size(); ++i) database.place(database.read(i).value);
    } catch (const Error&) {
      ++refused;
    }
    std::filesystem::remove(file);
  }
  CHECK(refused > 100);
}

TEST_CASE("foreign lmdb: a branch with a single node, which ends liblmdb's program, is told") {
  const TemporaryDirectory directory;
  const auto path = write_database(directory);
  std::vector<std::byte> file = read_file(path);
  const auto number = [&]<class T>(std::size_t at, T& value) {
    std::memcpy(&value, file.data() + at, sizeof value);
  };
  const auto put = [&](std::size_t at, const auto& value) {
    std::memcpy(file.data() + at, &value, sizeof value);
  };
  std::uint64_t transactions[2], root = 0;
  number(kMetaTransaction, transactions[0]);
  number(kPageBytes + kMetaTransaction, transactions[1]);
  const std::size_t meta = transactions[1] > transactions[0] ? kPageBytes : 0;
  number(meta + kMetaMain + kDbRoot, root);
  const std::size_t branch = root * kPageBytes;
  std::uint16_t kind = 0, node = 0, child = 0, lower = 0;
  number(branch + 10, kind);
  REQUIRE(kind == kBranchPage);
  put(branch + 12, static_cast<std::uint16_t>(kPageHead + 2));  // the first node alone
  number(branch + kPageHead, node);
  number(branch + node, child);
  number(child * kPageBytes + 12, lower);
  put(meta + kMetaMain + kDbEntries, std::uint64_t{(lower - kPageHead) / 2});
  write_file(path, file);
  CHECK(kind_of_error([&] { check_pages(path); }) == ErrorKind::kCorrupt);
}

TEST_CASE("foreign lmdb: pickles are known by their first and last bytes") {
  CHECK(is_pickled(as_bytes(std::string_view("\x80\x04K\x01.", 5))));
  CHECK(is_pickled(as_bytes("\xff\xff\xff\xff....")));
  CHECK_FALSE(is_pickled(as_bytes("\xff\xd8\xff\xe0")));
  CHECK_FALSE(is_pickled(as_bytes("")));
}

}  // namespace packhorse::lmdb
