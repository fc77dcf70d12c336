#include <algorithm>
#include <atomic>
#include <thread>

#include "base/permutation.h"
#include "packhorse/base/error.h"
#include "sources/source.h"
#include "support/support.h"

namespace packhorse {

namespace {

using Names = std::vector<std::string>;

Names paths(const EntryTable& table) {
  Names all;
  for (std::size_t i = 0; i < table.size(); ++i) all.push_back(table.path_of(i));
  return all;
}

/// 1000 entries in 100 directories; neighbours are in different ones.
EntryTable thousand() {
  EntryTable table;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    table.add(i % 100 == 0 ? "" : "d" + std::to_string(i % 100), std::to_string(i),
              {.size = i,
               .stamp = static_cast<std::int64_t>(i) - 5,
               .locator = 3 * i,
               .label = static_cast<std::int64_t>(i % 7),
               .field_bytes = static_cast<std::uint32_t>(i % 11),
               .fields = static_cast<std::uint32_t>(i % 4)});
  }
  return table;
}

void check_same(const EntryTable& a, std::size_t i, const EntryTable& b, std::size_t k) {
  const EntryTable::Entry x = a[i], y = b[k];
  CHECK(x.path == y.path);
  CHECK(x.size == y.size);
  CHECK(x.stamp == y.stamp);
  CHECK(x.locator == y.locator);
  CHECK(x.label == y.label);
  CHECK(x.field_bytes == y.field_bytes);
  CHECK(x.fields == y.fields);
}

}  // namespace

TEST_CASE("entry table: sorts by the whole path, byte by byte") {
  EntryTable table;
  table.add("b", "1", {.size = 1});
  table.add("a", "2", {.size = 2});
  table.add("a/x", "1", {.size = 3});
  table.add("a", "x.jpg", {.size = 4});
  table.add("", "z", {.size = 5});
  table.add("a-b", "1", {.size = 6});
  table.sort_by_path();
  CHECK(paths(table) == Names{"a-b/1", "a/2", "a/x.jpg", "a/x/1", "b/1", "z"});
  CHECK(table.size_of(3) == 3);
  EntryTable many = thousand();
  many.sort_by_path();
  const Names sorted = paths(many);
  CHECK(std::is_sorted(sorted.begin(), sorted.end()));
  CHECK(sorted.size() == 1000);
}

TEST_CASE("entry table: keeps all it is told, whatever the order of the directories") {
  const EntryTable table = thousand();
  CHECK(table.path_of(0) == "0");
  CHECK(table.path_of(199) == "d99/199");
  CHECK(table[199].stamp == 194);
  CHECK(table.facts(199).locator == 597);
  CHECK(table.label_of(199) == 3);
}

TEST_CASE("entry table: takes single entries of another, in any order and again") {
  const EntryTable table = thousand();
  EntryTable chosen;
  for (std::size_t k = 0; k < 500; ++k) chosen.add_from(table, k * 7919 % 1000);
  chosen.add_from(table, 0);
  for (std::size_t k = 0; k < 500; ++k) check_same(chosen, k, table, k * 7919 % 1000);
  check_same(chosen, 500, table, 0);
  const EntryTable copy = chosen;
  EntryTable from_copy;
  for (std::size_t i = 0; i < copy.size(); ++i) from_copy.add_from(copy, i);
  for (std::size_t i = 0; i < copy.size(); ++i) check_same(from_copy, i, chosen, i);
}

TEST_CASE("entry table: takes over whole tables, one behind the other") {
  EntryTable all;
  for (int part = 0; part < 3; ++part) all.append(thousand());
  const EntryTable table = thousand();
  REQUIRE(all.size() == 3000);
  for (std::size_t i = 0; i < all.size(); ++i) check_same(all, i, table, i % 1000);
  all.append(EntryTable());
  all.add("d5", "more", {});
  CHECK(all.path_of(3000) == "d5/more");
}

TEST_CASE("entry table: new labels, and entries without one dropped") {
  EntryTable table = thousand();
  table.relabel([&](std::size_t i) -> std::optional<std::int64_t> {
    if (i % 3 != 0) return std::nullopt;
    return table.label_of(i) + 100;
  });
  REQUIRE(table.size() == 334);
  for (std::size_t i = 0; i < table.size(); ++i) {
    CHECK(table.size_of(i) == 3 * i);
    CHECK(table.label_of(i) == static_cast<std::int64_t>(3 * i % 7 + 100));
  }
}

namespace {

constexpr std::uint64_t kShare = test::kEvery == 1 ? 1 : 5;
constexpr std::uint64_t kMany = 100'000 / kShare;                   // in 25 blocks, or 5
constexpr std::uint64_t kHalf = (std::uint64_t{6} << 20) / kShare;  // bytes: less than kMany take

/// Nothing in memory but the last block, all in memory, and something between.
std::vector<std::shared_ptr<EntryMemory>> memories() {
  std::vector<std::shared_ptr<EntryMemory>> all = {nullptr};
  for (const std::uint64_t bytes : {std::uint64_t{0}, kHalf, std::uint64_t{1000} << 20})
    all.push_back(std::make_shared<EntryMemory>(bytes, std::filesystem::path()));
  return all;
}

EntryTable::Entry made(std::uint64_t i) {
  const std::uint64_t mixed = mix64(i);
  EntryTable::Entry entry;
  entry.path = (i % 10 == 0 ? "" : "d" + std::to_string(mixed % 300) + "/") +
               std::string(mixed % 13, 'x') + std::to_string(mixed % 1'000'003);
  entry.size = mixed;
  entry.stamp = static_cast<std::int64_t>(mixed) / 3;
  entry.locator = i;
  entry.label = static_cast<std::int64_t>(i % 1000);
  entry.field_bytes = static_cast<std::uint32_t>(i);
  entry.fields = static_cast<std::uint32_t>(i % 4);
  return entry;
}

std::vector<EntryTable::Entry> made_list(std::uint64_t n) {
  std::vector<EntryTable::Entry> list;
  for (std::uint64_t i = 0; i < n; ++i) list.push_back(made(i));
  return list;
}

EntryTable table_of(const std::vector<EntryTable::Entry>& list,
                    const std::shared_ptr<EntryMemory>& memory) {
  EntryTable table(memory);
  for (const EntryTable::Entry& entry : list) {
    const std::size_t slash = entry.path.find('/');
    table.add(slash == std::string::npos ? "" : std::string_view(entry.path).substr(0, slash),
              std::string_view(entry.path).substr(slash == std::string::npos ? 0 : slash + 1),
              entry);
  }
  return table;
}

bool same(const EntryTable::Entry& a, const EntryTable::Entry& b) {
  return a.path == b.path && a.size == b.size && a.stamp == b.stamp && a.locator == b.locator &&
         a.label == b.label && a.field_bytes == b.field_bytes && a.fields == b.fields;
}

void check_holds(const EntryTable& table, const std::vector<EntryTable::Entry>& list) {
  REQUIRE(table.size() == list.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < list.size(); ++i) wrong += same(table[i], list[i]) ? 0u : 1u;
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("entry table: beyond the memory, entries lie in a file, and all is as before") {
  for (const std::shared_ptr<EntryMemory>& memory : memories()) {
    CAPTURE(memory ? static_cast<std::int64_t>(memory->bytes()) : -1);
    std::vector<EntryTable::Entry> list = made_list(kMany);
    EntryTable table = table_of(list, memory);
    CHECK(table.in_file() == (memory && memory->bytes() < 100u << 20));
    check_holds(table, list);

    const auto by_path = [](const EntryTable::Entry& a, const EntryTable::Entry& b) {
      return a.path < b.path;
    };
    table.sort_by_path();
    std::stable_sort(list.begin(), list.end(), by_path);
    check_holds(table, list);

    const Permutation order(list.size(), 7);
    table.permute(order);
    std::vector<EntryTable::Entry> permuted;
    for (std::size_t i = 0; i < list.size(); ++i) permuted.push_back(list[order(i)]);
    check_holds(table, permuted);

    table.revise([&](std::size_t i, EntryTable::Facts& facts) {
      facts.size = table.path_of(i).size();
      return i % 5 != 0;
    });
    table.relabel([&](std::size_t i) -> std::optional<std::int64_t> {
      if (table.facts(i).locator % 7 == 0) return std::nullopt;
      return table.label_of(i) + 1;
    });
    table.renumber_fields({1, 0});
    std::vector<EntryTable::Entry> left;
    for (std::size_t i = 0; i < permuted.size(); ++i) {
      if (i % 5 == 0 || permuted[i].locator % 7 == 0) continue;
      EntryTable::Entry entry = permuted[i];
      entry.size = entry.path.size();
      ++entry.label;
      entry.fields = entry.fields % 2 * 2 + entry.fields / 2;
      left.push_back(entry);
    }
    check_holds(table, left);

    EntryTable more = table_of(made_list(20'000), memory);
    more.append(std::move(table));
    list = made_list(20'000);
    list.insert(list.end(), left.begin(), left.end());
    check_holds(more, list);
    const EntryTable copy = more;  // NOLINT(performance-unnecessary-copy-initialization)
    more.add("z", "last", {});
    check_holds(copy, list);
  }
}

TEST_CASE("entry table: settled tables count, and go on") {
  for (const std::shared_ptr<EntryMemory>& memory : memories()) {
    for (const std::uint64_t n : {0u, 1u, 4095u, 4096u, 4097u, 9000u}) {
      CAPTURE(n);
      std::vector<EntryTable::Entry> list = made_list(n);
      EntryTable table = table_of(list, memory);
      table.settle();
      table.settle();
      check_holds(table, list);
      if (memory && memory->bytes() == 0) CHECK(table.in_file() == (n > 0));
      EntryTable all(memory);
      all.append(std::move(table));
      check_holds(all, list);
      for (std::uint64_t i = n; i < n + 5000; ++i) list.push_back(made(i));
      for (std::uint64_t i = n; i < n + 5000; ++i) all.append(table_of({made(i)}, memory));
      check_holds(all, list);
      all.settle();
      all.sort_by_path();
      CHECK(all.size() == list.size());
    }
  }
}

TEST_CASE("entry table: many threads read what lies in a file") {
  const auto memory = std::make_shared<EntryMemory>(0, std::filesystem::path());
  const std::vector<EntryTable::Entry> list = made_list(kMany);
  const EntryTable table = table_of(list, memory);
  std::atomic<std::size_t> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t k = 0; k < 5000; ++k) {
          const std::uint64_t i = mix64(k * 4 + t) % kMany;
          wrong += same(table[i], list[i]) ? 0u : 1u;
        }
      });
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("entry table: the memory is given back, and the disk what is no longer held") {
  const auto memory = std::make_shared<EntryMemory>(kHalf, std::filesystem::path());
  for (int time = 0; time < 5; ++time) {
    EntryTable table = table_of(made_list(kMany / 2), memory);
    CHECK(table.in_file() == false);  // what the last one took is free again
  }
  CHECK(memory->written() == 0);
}

TEST_CASE("entry table: says where its file cannot be made") {
  const auto memory = std::make_shared<EntryMemory>(0, "/proc/self");
  try {
    table_of(made_list(kMany), memory);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.path() == "/proc/self");
  }
}

}  // namespace packhorse
