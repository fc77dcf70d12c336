// What every format must do, however it is written. The loops below are the only place that knows
// there are several formats.
#include <algorithm>

#include "base/file.h"
#include "base/hash.h"
#include "shards.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::all_variants;
using test::content_of;
using test::for_each_format;
using test::for_each_variant;
using test::kFieldNames;
using test::kind_of_error;
using test::Row;
using test::TemporaryDirectory;
using test::Variant;

/// The directory that a shard was written to.
fs::path root_of(const Variant& variant, const fs::path& path) {
  const std::string text = path.string();
  const std::size_t suffix = suffix_of(variant.format, variant.zstd_level).size();
  return fs::path(text.substr(0, text.size() - suffix)).parent_path();
}

std::size_t files_below(const fs::path& root) {
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_directory()) ++files;
  }
  return files;
}

/// The fields of a row as a reader returns them.
std::vector<std::pair<std::string, std::string>> fields_of(const Row& row) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (std::size_t f = 0; f < row.fields.size(); ++f) {
    if (row.fields[f]) fields.emplace_back(kFieldNames[f], *row.fields[f]);
  }
  return fields;
}

bool same(const StoredSample& sample, const Row& row) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (const Field& field : sample.fields) fields.emplace_back(field.name, as_text(field.bytes));
  return sample.key == row.key && sample.label == row.label &&
         as_text(sample.image(row.image.kind)) == row.bytes && fields == fields_of(row);
}

}  // namespace

TEST_CASE("every format: its reader gives back keys, labels, bytes and fields") {
  for_each_variant([](const Variant& variant, const fs::path& path) {
    const std::vector<Row> rows = variant.rows();
    variant.write(path, rows);
    const auto reader = variant.format.open_reader(path);
    REQUIRE(reader->size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(same(reader->read(i), rows[i]));
  });
}

TEST_CASE("every format: its reader reads in any order") {
  for_each_variant([](const Variant& variant, const fs::path& path) {
    const std::vector<Row> rows = variant.rows();
    variant.write(path, rows);
    const auto reader = variant.format.open_reader(path);
    for (const std::size_t i : {7u, 3u, 3u, 17u, 0u, 1u}) CHECK(same(reader->read(i), rows[i]));
  });
}

TEST_CASE("every format: the ranges of close() hold the very bytes") {
  for_each_variant([](const Variant& variant, const fs::path& path) {
    const std::vector<Row> rows = variant.rows();
    const ShardLayout layout = variant.write(path, rows);
    const std::vector<std::byte> content = content_of(path, layout);
    const std::size_t names = variant.spec().fields.size();
    if (!layout.sha256.empty()) CHECK(layout.sha256 == sha256_file(path));
    REQUIRE(layout.images.size() == rows.size());
    REQUIRE(layout.fields.size() == rows.size() * names);
    REQUIRE(layout.frames.size() == (variant.zstd_level != 0 ? rows.size() : 0));
    const auto bytes_at = [&](const ByteRange& range) {
      REQUIRE(range.end() <= content.size());
      return std::string(as_text(Bytes(content).subspan(range.offset, range.length)));
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool image = bytes_at(layout.images[i]) == rows[i].bytes;
      CHECK(image);
      for (std::size_t f = 0; f < names; ++f) {
        const ByteRange range = layout.fields[i * names + f];
        REQUIRE((range == kAbsent) == !rows[i].fields[f].has_value());
        const bool field = range == kAbsent || bytes_at(range) == *rows[i].fields[f];
        CHECK(field);
      }
    }
  });
}

TEST_CASE("every format: the same samples give the same file") {
  for_each_variant([](const Variant& variant, const fs::path& path) {
    variant.write(path, variant.rows());
    const std::string first = sha256_file(path);
    fs::remove(path);
    variant.write(path, variant.rows());
    CHECK(sha256_file(path) == first);
  });
}

TEST_CASE("every format: thousands of small samples fit in one shard") {
  for_each_variant([](const Variant& variant, const fs::path& path) {
    if (variant.raw) return;
    std::vector<Row> rows;
    for (std::uint64_t i = 0; i < 30000 / test::kEvery; ++i) {
      Row row{key_of(i), static_cast<std::int64_t>(i % 1000), std::string(1 + i * 37 % 1900, 'x')};
      if (variant.fields) row.fields = {std::to_string(i), std::nullopt, std::string(i % 3, 't')};
      rows.push_back(std::move(row));
    }
    const ShardLayout layout = variant.write(path, rows);
    const auto reader = variant.format.open_reader(path);
    REQUIRE(reader->size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      REQUIRE(same(reader->read(i), rows[i]));
      REQUIRE(layout.images[i].length == rows[i].bytes.size());
    }
  });
}

TEST_CASE("every format: nothing is at the final name before close()") {
  for_each_variant([](const Variant& variant, const fs::path& path) {
    const auto writer = variant.format.open_writer(path, variant.spec());
    test::add(*writer, variant.rows().back());
    CHECK_FALSE(fs::exists(path));
    writer->close();
    CHECK(fs::exists(path));
  });
}

TEST_CASE("every format: a writer that is dropped leaves nothing behind") {
  for_each_variant([](const Variant& variant, const fs::path& path) {
    {
      const auto writer = variant.format.open_writer(path, variant.spec());
      for (const Row& row : variant.rows()) test::add(*writer, row);
    }
    CHECK(fs::is_empty(root_of(variant, path)));
  });
}

TEST_CASE("every format: close() leaves no temporary file behind") {
  for_each_variant([](const Variant& variant, const fs::path& path) {
    variant.write(path, variant.rows());
    CHECK(files_below(root_of(variant, path)) == 1);
  });
}

TEST_CASE("every format: a key out of order, or given twice, is refused") {
  for_each_format([](const Format& format, const fs::path& path) {
    const auto writer = format.open_writer(path, {});
    test::add(*writer, {"000000002", 0, "two"});
    for (const char* key : {"000000001", "000000002"}) {
      CHECK(kind_of_error([&] { test::add(*writer, {key, 0, "again"}); }) == ErrorKind::kUsage);
    }
  });
}

TEST_CASE("every format: keys of different lengths survive") {
  for_each_format([](const Format& format, const fs::path& path) {
    const std::vector<Row> rows = {{"a", 0, "one"}, {"a_long_key", 1, "two"}, {"b-3", 2, "three"}};
    Variant{format}.write(path, rows);
    const auto reader = format.open_reader(path);
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(same(reader->read(i), rows[i]));
  });
}

TEST_CASE("every format: labels up to 2^31 - 1 survive") {
  for_each_format([](const Format& format, const fs::path& path) {
    Variant{format}.write(path, {{"000000000", 0, "a"}, {"000000001", 2147483647, "b"}});
    CHECK(format.open_reader(path)->read(1).label == 2147483647);
  });
}

TEST_CASE("every format: many long class names fit") {
  for_each_format([](const Format& format, const fs::path& path) {
    std::vector<std::string> classes;
    for (int i = 0; i < 22000; ++i)
      classes.push_back("a class with quite a long name, number " + std::to_string(i));
    const auto writer = format.open_writer(path, {classes});
    test::add(*writer, {"000000000", 21999, "a"});
    writer->close();
    CHECK(format.open_reader(path)->read(0).label == 21999);
  });
}

TEST_CASE("every format: a shard that was cut gives fewer samples or an Error, and nothing wrong") {
  for_each_variant([](const Variant& variant, const fs::path& path) {
    const std::vector<Row> rows = variant.rows();
    variant.write(path, rows);
    const std::uintmax_t bytes = fs::file_size(path);
    for (const std::uintmax_t kept : {3 * bytes / 4, bytes / 2, bytes / 4, std::uintmax_t{1}}) {
      CAPTURE(kept);
      fs::resize_file(path, kept);
      try {
        const auto reader = variant.format.open_reader(path);
        CHECK(reader->size() < rows.size());
        for (std::size_t i = 0; i < reader->size(); ++i) {
          const StoredSample sample = reader->read(i);
          CHECK((sample.label == -1 || same(sample, rows[i])));
        }
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::kCorrupt);
      }
    }
  });
}

TEST_CASE("every format: a file that is not there is an Error with its path") {
  for_each_format([](const Format& format, const fs::path& path) {
    CHECK_THROWS_AS(format.open_reader(path), Error);
  });
}

TEST_CASE("every format: a directory that cannot be written to is an Error") {
  for_each_variant([](const Variant& variant, const fs::path& path) {
    const fs::path root = root_of(variant, path);
    test::put(root / "file", "in the way");
    CHECK_THROWS_AS(
        variant.format.open_writer(root / "file" / fs::relative(path, root), variant.spec()),
        Error);
  });
}

}  // namespace packhorse
