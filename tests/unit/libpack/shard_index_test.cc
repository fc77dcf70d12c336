#include "packhorse/shard_index.h"

#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;

constexpr std::uint64_t kDataBytes = 1000;

std::vector<IndexEntry> rows() {
  return {{{0, 10}, 1, 0, {ImageKind::kJpeg, 3, 8, 6, 640, 480}, "000000000", "cats/a.jpg"},
          {{10, 0},
           ~std::uint64_t{0},
           2147483647,
           {ImageKind::kPng, 4, 16, 1, 1, 4294967295u},
           "000000003",
           ""},
          {{500, 500}, 0, -1, {ImageKind::kUnknown, 0, 0, 0, 0, 0}, "", "\xff\xfe/no UTF-8\n.jpg"},
          {{5, 20}, 42, 7, {ImageKind::kPnm, 1, 8, 1, 2, 2}, "k", std::string(5000, 'p')}};
}

std::string serialised(const std::vector<IndexEntry>& entries) {
  ShardIndexWriter writer;
  for (const IndexEntry& entry : entries) writer.add(entry);
  return writer.serialise(kDataBytes);
}

bool is_corrupt(const fs::path& path, std::string_view bytes) {
  put(path, bytes);
  return kind_of_error([&] { ShardIndex index(path); }) == ErrorKind::kCorrupt;
}

}  // namespace

TEST_CASE("shard index: gives back every row") {
  const TemporaryDirectory directory;
  put(directory / "index", serialised(rows()));
  const ShardIndex index(directory / "index");
  CHECK(index.data_bytes() == kDataBytes);
  REQUIRE(index.size() == rows().size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    const IndexEntry row = rows()[i];
    CHECK(index.range(i) == row.range);
    CHECK(index.hash(i) == row.hash);
    CHECK(index.label(i) == row.label);
    CHECK(index.image(i) == row.image);
    CHECK(index.key(i) == row.key);
    CHECK(index.path(i) == row.path);
  }
}

TEST_CASE("shard index: outlives being moved") {
  const TemporaryDirectory directory;
  put(directory / "index", serialised(rows()));
  ShardIndex first(directory / "index");
  const ShardIndex second(std::move(first));
  CHECK(second.path(0) == "cats/a.jpg");
  CHECK(second.image(0).width == 640);
}

TEST_CASE("shard index: an empty one is fine") {
  const TemporaryDirectory directory;
  put(directory / "index", serialised({}));
  CHECK(ShardIndex(directory / "index").size() == 0);
}

TEST_CASE("shard index: a key may be empty, a path may be any bytes") {
  const TemporaryDirectory directory;
  put(directory / "index", serialised({rows()[2], rows()[2]}));
  const ShardIndex index(directory / "index");
  CHECK(index.key(0).empty());
  CHECK(index.path(1) == "\xff\xfe/no UTF-8\n.jpg");
}

TEST_CASE("shard index: the same rows give the same bytes") {
  CHECK(serialised(rows()) == serialised(rows()));
}

TEST_CASE("shard index: any flipped byte is corrupt") {
  const TemporaryDirectory directory;
  std::vector<IndexEntry> entries = rows();
  entries.pop_back();
  const std::string good = serialised(entries);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    CAPTURE(at);
    CHECK(is_corrupt(directory / "index", damaged));
  }
}

TEST_CASE("shard index: cut anywhere, or longer than it was, it is corrupt") {
  const TemporaryDirectory directory;
  std::vector<IndexEntry> entries = rows();
  entries.pop_back();
  const std::string good = serialised(entries);
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK(is_corrupt(directory / "index", good.substr(0, size)));
  }
  CHECK(is_corrupt(directory / "index", good + '\0'));
}

TEST_CASE("shard index: a sample outside the data file is corrupt, though the checksum fits") {
  const TemporaryDirectory directory;
  for (const ByteRange range :
       {ByteRange{kDataBytes, 1}, ByteRange{kDataBytes + 1, 0}, ByteRange{1, ~std::uint64_t{0}}}) {
    IndexEntry row = rows()[0];
    row.range = range;
    CHECK(is_corrupt(directory / "index", serialised({row})));
  }
}

TEST_CASE("shard index: a file that is not there is kNotFound") {
  const TemporaryDirectory directory;
  CHECK(kind_of_error([&] { ShardIndex index(directory / "index"); }) == ErrorKind::kNotFound);
}

}  // namespace packhorse
