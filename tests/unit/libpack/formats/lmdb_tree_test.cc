#include <fmt/format.h>

#include <random>

#include "base/file.h"
#include "base/hash.h"
#include "formats/lmdb/database.h"
#include "support/support.h"

/// Compares our writer's files with LMDB's own library.
namespace packhorse::lmdb {

namespace {

using test::kind_of_error;
using test::TemporaryDirectory;

struct Item {
  std::string key, value;
};

std::vector<Item> items_of_size(std::size_t count, std::size_t size) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < count; ++i) {
    items.push_back({fmt::format("{:09}", i), std::string(size, static_cast<char>('a' + i % 26))});
  }
  return items;
}

/// Long and short keys, values inside and outside of leaves.
std::vector<Item> items_of_many_sizes(std::size_t count) {
  std::mt19937 random(7);
  std::vector<Item> items;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = fmt::format("{:06}", i) + std::string(random() % 506, 'k');
    const std::size_t size = random() % (random() % 4 == 0 ? 40000 : 2100);
    items.push_back({key, std::string(size, static_cast<char>(random() % 100))});
  }
  return items;
}

std::string expected_meta_pages(const std::vector<Item>& items) {
  Tree tree;
  for (const Item& item : items) tree.add(item.key, item.value.size(), {}, Tree::kNoTag);
  return tree.finish();
}

/// Returns the offsets of the values.
std::vector<std::uint64_t> write(const std::filesystem::path& path, const std::vector<Item>& items,
                                 const std::string& meta_pages = {}) {
  std::vector<std::uint64_t> offsets(items.size());
  DatabaseWriter writer(path, meta_pages,
                        [&](std::uint64_t tag, std::uint64_t at) { offsets[tag] = at; });
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Bytes value = as_bytes(items[i].value);
    writer.put(items[i].key, {value.first(value.size() / 2), value.subspan(value.size() / 2)}, i);
  }
  const std::string sum = writer.finish();
  CHECK(sum == sha256_file(path));
  return offsets;
}

MDB_stat stat_of(const std::filesystem::path& path, std::uint64_t& last_page) {
  const Env env = open_read_only(path);
  MDB_stat stat{};
  MDB_envinfo info{};
  REQUIRE(mdb_env_stat(env.get(), &stat) == MDB_SUCCESS);
  REQUIRE(mdb_env_info(env.get(), &info) == MDB_SUCCESS);
  last_page = info.me_last_pgno;
  return stat;
}

/// Checks every key by a walk and by a search, every value, every offset, and that every page is
/// accounted for.
void check_file(const std::filesystem::path& path, const std::vector<Item>& items,
                const std::vector<std::uint64_t>& offsets) {
  std::uint64_t last_page = 0;
  const MDB_stat stat = stat_of(path, last_page);
  CHECK(stat.ms_entries == items.size());
  CHECK(stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages + 1 == last_page);
  CHECK(std::filesystem::file_size(path) == (last_page + 1) * stat.ms_psize);

  DatabaseReader reader(path);
  const std::string file = read_text(path);
  const Env env = open_read_only(path);
  const Txn txn(env.get(), MDB_RDONLY, path);
  MDB_dbi database = 0;
  REQUIRE(mdb_dbi_open(txn.get(), nullptr, 0, &database) == MDB_SUCCESS);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const DatabaseReader::Entry entry = reader.read(i);
    MDB_val key{item.key.size(), const_cast<char*>(item.key.data())}, value{};
    const int found = mdb_get(txn.get(), database, &key, &value);
    const bool right = entry.key == item.key && as_text(entry.value) == item.value &&
                       file.compare(offsets[i], item.value.size(), item.value) == 0 &&
                       found == MDB_SUCCESS && value.mv_size == item.value.size();
    wrong += right ? 0u : 1u;
  }
  CHECK(wrong == 0);
}

/// Writes the same database with LMDB's own writer.
MDB_stat by_the_library(const std::filesystem::path& path, const std::vector<Item>& items) {
  MDB_env* raw = nullptr;
  REQUIRE(mdb_env_create(&raw) == MDB_SUCCESS);
  const Env env(raw);
  mdb_env_set_mapsize(raw, 1u << 30);
  REQUIRE(mdb_env_open(raw, path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0644) == 0);
  Txn txn(raw, 0, path);
  MDB_dbi database = 0;
  REQUIRE(mdb_dbi_open(txn.get(), nullptr, 0, &database) == MDB_SUCCESS);
  for (const Item& item : items) {
    MDB_val key{item.key.size(), const_cast<char*>(item.key.data())};
    MDB_val value{item.value.size(), const_cast<char*>(item.value.data())};
    REQUIRE(mdb_put(txn.get(), database, &key, &value, MDB_APPEND) == MDB_SUCCESS);
  }
  txn.commit(path);
  MDB_stat stat{};
  mdb_env_stat(raw, &stat);
  return stat;
}

}  // namespace

TEST_CASE("lmdb tree: the library reads all of it, at every height and around every size") {
  const TemporaryDirectory directory;
  // 144 large values fill a leaf, 204 leaves a branch; a value of up to 2021 bytes stays inside a
  // leaf.
  for (const std::size_t count : {0u, 1u, 2u, 144u, 145u, 146u, 288u, 289u, 30000u}) {
    for (const std::size_t size : {0u, 900u, 2020u, 2021u, 2022u, 4080u, 4081u}) {
      if (count * size > (32u << 20)) continue;
      CAPTURE(count);
      CAPTURE(size);
      const std::vector<Item> items = items_of_size(count, size);
      check_file(directory / "a", items, write(directory / "a", items));
    }
  }
  const std::vector<Item> items = items_of_many_sizes(4000);
  check_file(directory / "b", items, write(directory / "b", items));
}

TEST_CASE("lmdb tree: has as many pages for values as the library's, and no more for keys") {
  const TemporaryDirectory directory;
  for (const auto& items :
       {items_of_size(5000, 10), items_of_size(3000, 5000), items_of_many_sizes(2000)}) {
    write(directory / "ours", items);
    std::filesystem::remove(directory / "theirs");
    const MDB_stat theirs = by_the_library(directory / "theirs", items);
    std::uint64_t last_page = 0;
    const MDB_stat ours = stat_of(directory / "ours", last_page);
    CHECK(ours.ms_overflow_pages == theirs.ms_overflow_pages);
    CHECK(ours.ms_leaf_pages == theirs.ms_leaf_pages);
    CHECK(ours.ms_branch_pages <= theirs.ms_branch_pages);
    CHECK(ours.ms_depth <= theirs.ms_depth);
  }
}

TEST_CASE("lmdb tree: the library can go on writing it") {
  const TemporaryDirectory directory;
  const std::vector<Item> items = items_of_many_sizes(3000);
  write(directory / "a", items);
  MDB_env* raw = nullptr;
  REQUIRE(mdb_env_create(&raw) == MDB_SUCCESS);
  const Env env(raw);
  mdb_env_set_mapsize(raw, 1u << 30);
  REQUIRE(mdb_env_open(raw, (directory / "a").c_str(), MDB_NOSUBDIR | MDB_NOLOCK, 0644) == 0);
  for (const bool remove : {true, false}) {
    Txn txn(raw, 0, directory / "a");
    MDB_dbi database = 0;
    REQUIRE(mdb_dbi_open(txn.get(), nullptr, 0, &database) == MDB_SUCCESS);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i % 10 == 0) continue;
      MDB_val key{items[i].key.size(), const_cast<char*>(items[i].key.data())};
      MDB_val value{items[i].value.size(), const_cast<char*>(items[i].value.data())};
      REQUIRE((remove ? mdb_del(txn.get(), database, &key, nullptr)
                      : mdb_put(txn.get(), database, &key, &value, 0)) == MDB_SUCCESS);
    }
    txn.commit(directory / "a");
  }
  DatabaseReader reader(directory / "a");
  REQUIRE(reader.size() == items.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const DatabaseReader::Entry entry = reader.read(i);
    wrong += entry.key == items[i].key && as_text(entry.value) == items[i].value ? 0u : 1u;
  }
  CHECK(wrong == 0);
}

TEST_CASE("lmdb writer: what was expected changes no byte, whether it came or not") {
  const TemporaryDirectory directory;
  const std::vector<Item> items = items_of_many_sizes(500);
  write(directory / "unknown", items);
  write(directory / "right", items, expected_meta_pages(items));
  write(directory / "wrong", items, expected_meta_pages(items_of_size(3, 3)));
  CHECK(read_text(directory / "unknown") == read_text(directory / "right"));
  CHECK(read_text(directory / "unknown") == read_text(directory / "wrong"));
  CHECK(read_text(directory / "right").starts_with(expected_meta_pages(items)));
}

TEST_CASE("lmdb writer: refuses a key that is too long") {
  const TemporaryDirectory directory;
  DatabaseWriter writer(directory / "a", {}, {});
  writer.put(std::string(511, 'k'), {as_bytes("v")});
  CHECK(kind_of_error([&] { writer.put(std::string(512, 'k'), {as_bytes("v")}); }) ==
        ErrorKind::kUsage);
}

}  // namespace packhorse::lmdb
