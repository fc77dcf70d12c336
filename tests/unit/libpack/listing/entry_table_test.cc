#include <algorithm>

#include "packhorse/sources/source.h"
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

}  // namespace packhorse
