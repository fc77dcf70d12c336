#include "dataset/shard_index.h"

#include <cstring>
#include <limits>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "packhorse/dataset/manifest.h"
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
           {ImageKind::kPng, 4, 16, 1, 1, 2147483647u},
           "000000003",
           ""},
          {{500, 500}, 0, 0, {ImageKind::kRaw, 1, 8, 0, 50, 10}, "", "\xff\xfe/no UTF-8\n.jpg"},
          {{5, 20}, 42, 7, {ImageKind::kPnm, 1, 8, 1, 2, 2}, "k", std::string(5000, 'p')}};
}

std::string serialised(const std::vector<IndexEntry>& entries) {
  ShardIndexWriter writer;
  for (const IndexEntry& entry : entries) writer.add(entry);
  return writer.serialise(kDataBytes);
}

/// Rows with two fields each, in frames of 200 bytes that decompress to 1000.
std::vector<IndexEntry> rows_with_fields() {
  std::vector<IndexEntry> entries;
  for (std::uint64_t i = 0; i < 3; ++i) {
    IndexEntry entry = rows()[0];
    entry.key = "00000000" + std::to_string(i);
    entry.range = {1000 * i + 512, 30};
    entry.fields = {{1000 * i + 999, 1}, i == 1 ? kAbsent : ByteRange{1000 * i, 0}};
    entry.field_hashes = {100 + i, i == 1 ? 0 : 200 + i};
    entry.frame = {{200 * i, 200}, {1000 * i, 1000}};
    entries.push_back(entry);
  }
  return entries;
}

std::string serialised(const std::vector<IndexEntry>& entries, bool compressed) {
  ShardIndexWriter writer({"json", "seg.png"}, compressed);
  for (const IndexEntry& entry : entries) writer.add(entry);
  return writer.serialise(compressed ? kDataBytes : 3000);
}

/// Replaces the section table entry `id` by another one, and the checksum by the matching one.
std::string with_section(std::string file, std::uint32_t id, std::uint32_t new_id,
                         std::uint32_t flags) {
  std::uint32_t sections = 0;
  std::memcpy(&sections, file.data() + 12, sizeof sections);
  for (std::size_t i = 0; i < sections; ++i) {
    char* entry = file.data() + 64 + 24 * i;
    if (std::memcmp(entry, &id, sizeof id) != 0) continue;
    std::memcpy(entry, &new_id, sizeof new_id);
    std::memcpy(entry + 4, &flags, sizeof flags);
  }
  std::memset(file.data() + 56, 0, 8);
  std::string without = file.substr(0, 56) + std::string(8, '\0') + file.substr(64);
  const std::uint64_t sum = xxh3(as_bytes(without));
  std::memcpy(file.data() + 56, &sum, sizeof sum);
  return file;
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

TEST_CASE("shard index: what no image and no label can be is corrupt, though the checksum fits") {
  const TemporaryDirectory directory;
  const auto corrupt_with = [&](const auto& change) {
    IndexEntry row = rows()[0];
    change(row);
    return is_corrupt(directory / "index", serialised({row}));
  };
  for (const int kind : {0, static_cast<int>(kLastImageKind) + 1, 255})
    CHECK(corrupt_with([&](IndexEntry& e) { e.image.kind = static_cast<ImageKind>(kind); }));
  for (const std::uint32_t side : {0u, 2147483648u, 4294967295u}) {
    CHECK(corrupt_with([&](IndexEntry& e) { e.image.width = side; }));
    CHECK(corrupt_with([&](IndexEntry& e) { e.image.height = side; }));
  }
  for (const std::int64_t label : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()})
    CHECK(corrupt_with([&](IndexEntry& e) { e.label = label; }));
  // Only the index knows the size of raw pixels: 10 bytes.
  for (const ImageInfo& pixels :
       {ImageInfo{ImageKind::kRaw, 1, 8, 1, 5, 3}, ImageInfo{ImageKind::kRaw, 2, 8, 1, 5, 1},
        ImageInfo{ImageKind::kRaw, 0, 8, 1, 5, 2}}) {
    CHECK(corrupt_with([&](IndexEntry& e) { e.image = pixels; }));
  }
}

TEST_CASE("shard index: a large one is checked as it is used, block by block") {
  const TemporaryDirectory directory;
  constexpr std::size_t kRows = 2100, kBlock = 256, kStep = 787 * std::size_t{test::kEvery};
  const auto write = [&](std::int64_t label_of_300, bool compressed = false) {
    std::vector<IndexEntry> entries;
    for (std::size_t i = 0; i < kRows; ++i) {
      IndexEntry entry = rows_with_fields()[i % 3];
      entry.key = std::to_string(i);
      entry.path = std::string(i % 7, 'p');
      entry.label = i == 300 ? label_of_300 : static_cast<std::int64_t>(i % 5);
      entries.push_back(entry);
    }
    return serialised(entries, compressed);
  };
  const auto as_used = [&](const std::string& file) {
    put(directory / "index", file);
    return ShardIndex(open_for_reading(directory / "index").get(), directory / "index",
                      IndexCheck::kAsUsed);
  };
  for (const bool compressed : {false, true}) {
    const std::string good = write(3, compressed);
    const ShardIndex index = as_used(good);
    const ShardIndex whole(directory / "index");
    for (std::size_t i = kRows; i-- > 0;) {
      CHECK(index.range(i) == whole.range(i));
      CHECK(index.hash(i) == whole.hash(i));
      CHECK(index.label(i) == whole.label(i));
      CHECK(index.image(i) == whole.image(i));
      CHECK(index.key(i) == whole.key(i));
      CHECK(index.path(i) == whole.path(i));
      for (const std::size_t field : {0u, 1u}) {
        CHECK(index.field_range(i, field) == whole.field_range(i, field));
        CHECK(index.field_hash(i, field) == whole.field_hash(i, field));
      }
    }
    // A flipped byte is found in its block alone, or when the file is opened; as padding, never.
    std::size_t at_once = 0, as_it_is_used = 0;
    for (std::size_t at = 5; at < good.size(); at += kStep) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ 4);
      CAPTURE(at);
      CHECK(is_corrupt(directory / "index", damaged));
      std::set<std::size_t> bad_blocks;
      std::size_t wrong = 0;
      try {
        const ShardIndex some = as_used(damaged);
        for (std::size_t i = 0; i < kRows; ++i) {
          try {
            if (some.key(i) != std::to_string(i)) ++wrong;  // `whole` maps the damaged file
          } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::kCorrupt);
            bad_blocks.insert(i / kBlock);
          }
        }
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::kCorrupt);
        ++at_once;
      }
      CHECK(wrong == 0);
      CHECK(bad_blocks.size() <= 2);  // where texts end concerns the block behind, too
      if (!bad_blocks.empty()) ++as_it_is_used;
    }
    CHECK(at_once > 0);
    CHECK(as_it_is_used > good.size() / kStep * 8 / 10);
  }
  ShardIndex foreign = as_used(write(5));
  foreign.expect_labels_below(5);
  CHECK(foreign.label(1) == 1);
  CHECK(kind_of_error([&] { foreign.label(256); }) == ErrorKind::kCorrupt);
}

TEST_CASE("shard index: a small one, or an old one, is checked as a whole however it is opened") {
  const TemporaryDirectory directory;
  std::string damaged = serialised(rows());
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  put(directory / "index", damaged);
  CHECK(kind_of_error([&] {
          ShardIndex(open_for_reading(directory / "index").get(), directory / "index",
                     IndexCheck::kAsUsed);
        }) == ErrorKind::kCorrupt);
}

TEST_CASE("shard index: says why it is not the index of a shard") {
  const TemporaryDirectory directory;
  put(directory / "index", serialised({rows()[3]}));  // label 7
  const ShardIndex index(directory / "index");
  Manifest manifest;
  manifest.class_samples.resize(8);
  ShardRecord record;
  record.samples = 1;
  record.bytes = kDataBytes;
  CHECK_FALSE(index.why_not_of(record, manifest));
  manifest.class_samples.resize(7);
  REQUIRE(index.why_not_of(record, manifest));
  CHECK(index.why_not_of(record, manifest)->find("label") != std::string::npos);
  manifest.class_samples.resize(8);
  record.samples = 2;
  CHECK(index.why_not_of(record, manifest));
  record.samples = 1;
  record.bytes = 1;
  CHECK(index.why_not_of(record, manifest));
  record.bytes = kDataBytes;
  manifest.compress = "zstd:3";
  CHECK(index.why_not_of(record, manifest));
}

TEST_CASE("shard index: maps and checks one and the same file") {
  const TemporaryDirectory directory;
  put(directory / "index", serialised({rows()[0]}));
  const UniqueFd fd = open_for_reading(directory / "index");
  put(directory / "other", serialised({rows()[3]}));
  fs::rename(directory / "other", directory / "index");
  const ShardIndex index(fd.get(), directory / "index");
  CHECK(index.key(0) == rows()[0].key);
}

TEST_CASE("shard index: a file that is not there is kNotFound") {
  const TemporaryDirectory directory;
  CHECK(kind_of_error([&] { ShardIndex index(directory / "index"); }) == ErrorKind::kNotFound);
}

TEST_CASE("shard index: gives back fields and frames") {
  const TemporaryDirectory directory;
  for (const bool compressed : {false, true}) {
    put(directory / "index", serialised(rows_with_fields(), compressed));
    const ShardIndex index(directory / "index");
    CHECK(index.fields() == std::vector<std::string>{"json", "seg.png"});
    CHECK(index.compressed() == compressed);
    for (std::size_t i = 0; i < index.size(); ++i) {
      const IndexEntry row = rows_with_fields()[i];
      CHECK(index.range(i) == row.range);
      for (std::size_t field : {0u, 1u}) {
        CHECK(index.field_range(i, field) == row.fields[field]);
        CHECK(index.field_hash(i, field) == row.field_hashes[field]);
        CHECK(index.has_field(i, field) == !(i == 1 && field == 1));
      }
      if (compressed) CHECK(index.frame(i) == row.frame);
    }
  }
}

TEST_CASE("shard index: without fields and frames it has the eight sections it always had") {
  const std::string text = serialised(rows());
  std::uint32_t sections = 0;
  std::memcpy(&sections, text.data() + 12, sizeof sections);
  CHECK(sections == 8);
  const TemporaryDirectory directory;
  put(directory / "index", text);
  const ShardIndex index(directory / "index");
  CHECK(index.fields().empty());
  CHECK_FALSE(index.compressed());
}

TEST_CASE("shard index: a row without its fields is refused") {
  ShardIndexWriter writer({"json"});
  CHECK(kind_of_error([&] { writer.add(rows()[0]); }) == ErrorKind::kUsage);
}

TEST_CASE("shard index: a section it does not know is passed over, unless it says otherwise") {
  const TemporaryDirectory directory;
  constexpr std::uint32_t kFieldEnds = 9, kFrames = 13, kUnknown = 1000;
  put(directory / "index",
      with_section(serialised(rows_with_fields(), false), kFieldEnds, kUnknown, 0));
  CHECK(ShardIndex(directory / "index").fields().empty());
  put(directory / "index",
      with_section(serialised(rows_with_fields(), true), kFrames, kUnknown, 1));
  CHECK(kind_of_error([&] { ShardIndex index(directory / "index"); }) == ErrorKind::kUnsupported);
}

TEST_CASE("shard index: what may be passed over, and what not") {
  // A reader without frames would take compressed bytes for images; it may ignore fields.
  const std::string text = serialised(rows_with_fields(), true);
  std::uint32_t sections = 0;
  std::memcpy(&sections, text.data() + 12, sizeof sections);
  CHECK(sections == 13);
  for (std::size_t i = 0; i < sections; ++i) {
    std::uint32_t id = 0, flags = 0;
    std::memcpy(&id, text.data() + 64 + 24 * i, sizeof id);
    std::memcpy(&flags, text.data() + 64 + 24 * i + 4, sizeof flags);
    CAPTURE(id);
    CHECK(flags == (id >= 9 && id <= 12 ? 0 : 1));
  }
}

TEST_CASE("shard index: one section of fields missing is corrupt") {
  const TemporaryDirectory directory;
  for (const std::uint32_t id : {10u, 11u, 12u}) {
    CAPTURE(id);
    CHECK(is_corrupt(directory / "index",
                     with_section(serialised(rows_with_fields(), false), id, 1000, 0)));
  }
}

TEST_CASE("shard index: any flipped byte is corrupt, with fields and frames too") {
  const TemporaryDirectory directory;
  const std::string good = serialised(rows_with_fields(), true);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    CAPTURE(at);
    CHECK(is_corrupt(directory / "index", damaged));
  }
}

TEST_CASE("shard index: a field or frame outside its place is corrupt, though the checksum fits") {
  const TemporaryDirectory directory;
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  const auto corrupt_with = [&](bool compressed, const auto& change) {
    std::vector<IndexEntry> entries = rows_with_fields();
    change(entries[1]);
    return is_corrupt(directory / "index", serialised(entries, compressed));
  };
  for (const ByteRange range : {ByteRange{3000, 1}, ByteRange{3001, 0}, ByteRange{1, kHuge},
                                ByteRange{kHuge, 1}, ByteRange{kHuge - 1, 0}}) {
    CHECK(corrupt_with(false, [&](IndexEntry& e) { e.fields[0] = range; }));
  }
  // Ranges in another sample's frame, or across its borders.
  for (const ByteRange range :
       {ByteRange{0, 10}, ByteRange{999, 2}, ByteRange{1999, 2}, ByteRange{2000, 1}}) {
    CHECK(corrupt_with(true, [&](IndexEntry& e) { e.fields[0] = range; }));
    CHECK(corrupt_with(true, [&](IndexEntry& e) { e.range = range; }));
  }
  for (const ByteRange stored : {ByteRange{kDataBytes - 199, 200}, ByteRange{1, kHuge}}) {
    CHECK(corrupt_with(true, [&](IndexEntry& e) { e.frame.stored = stored; }));
  }
  CHECK(corrupt_with(true, [&](IndexEntry& e) { e.frame.content.length = kHuge; }));
  CHECK(corrupt_with(true, [&](IndexEntry& e) { e.frame.content.length = 1u << 31; }));
}

}  // namespace packhorse
