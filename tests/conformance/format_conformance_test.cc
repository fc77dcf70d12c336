// What every format must do, whatever it is: the loops below are the only place that knows there
// are several.
#include <algorithm>
#include <numeric>

#include "packhorse/file.h"
#include "packhorse/format.h"
#include "packhorse/hash.h"
#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::TemporaryDirectory;

struct Row {
  std::string key;
  std::int64_t label;
  std::string bytes;
};

/// Sizes around every boundary the formats have: tar blocks, pages, LMDB's overflow limit, write
/// buffers.
std::vector<Row> interesting_rows() {
  std::vector<Row> rows;
  std::uint64_t position = 0;
  for (const std::size_t size : {1u, 2u, 511u, 512u, 513u, 900u, 2020u, 2040u, 2048u, 4079u, 4080u,
                                 4096u, 4097u, 65536u, 1048575u, 1048576u, 1048577u, 3000000u}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 131 + size) >> 3);
    rows.push_back({key_of(position), static_cast<std::int64_t>(position % 5), bytes});
    position += 3;  // keys may have gaps
  }
  return rows;
}

Sample sample_of(const Row& row) {
  ImageInfo image;
  image.kind = ImageKind::kJpeg;
  return {row.key, row.label, image, as_bytes(row.bytes), {}};
}

std::vector<ByteRange> write_shard(const Format& format, const fs::path& path,
                                   const std::vector<Row>& rows) {
  const auto writer = format.open_writer(path, {{"a", "b", "c", "d", "e"}, {}, 0});
  for (const Row& row : rows) writer->add(sample_of(row));
  return writer->close().images;
}

fs::path shard_in(const TemporaryDirectory& directory, const Format& format) {
  return directory / ("shard-000000" + std::string(format.file_suffix));
}

/// The directory a shard was put in, by shard_in().
fs::path root_of(const Format& format, const fs::path& path) {
  const std::string text = path.string();
  return fs::path(text.substr(0, text.size() - format.file_suffix.size())).parent_path();
}

std::size_t files_below(const fs::path& root) {
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_directory()) ++files;
  }
  return files;
}

template <class Check>
void for_each_format(const Check& check) {
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    const TemporaryDirectory directory;
    check(*format, shard_in(directory, *format));
  }
}

}  // namespace

TEST_CASE("every format: its reader gives back keys, labels and bytes") {
  for_each_format([](const Format& format, const fs::path& path) {
    const std::vector<Row> rows = interesting_rows();
    write_shard(format, path, rows);
    const auto reader = format.open_reader(path);
    REQUIRE(reader->size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const StoredSample sample = reader->read(i);
      CHECK(sample.key == rows[i].key);
      CHECK(sample.label == rows[i].label);
      CHECK(as_text(sample.bytes) == rows[i].bytes);
    }
  });
}

TEST_CASE("every format: its reader reads in any order") {
  for_each_format([](const Format& format, const fs::path& path) {
    const std::vector<Row> rows = interesting_rows();
    write_shard(format, path, rows);
    const auto reader = format.open_reader(path);
    for (const std::size_t i : {7u, 3u, 3u, 17u, 0u, 1u})
      CHECK(as_text(reader->read(i).bytes) == rows[i].bytes);
  });
}

TEST_CASE("every format: the ranges of close() hold the very bytes") {
  for_each_format([](const Format& format, const fs::path& path) {
    const std::vector<Row> rows = interesting_rows();
    const std::vector<ByteRange> ranges = write_shard(format, path, rows);
    const std::vector<std::byte> file = read_file(path);
    REQUIRE(ranges.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      REQUIRE(ranges[i].end() <= file.size());
      CHECK(as_text(Bytes(file).subspan(ranges[i].offset, ranges[i].length)) == rows[i].bytes);
    }
  });
}

TEST_CASE("every format: the same samples give the same file") {
  for_each_format([](const Format& format, const fs::path& path) {
    write_shard(format, path, interesting_rows());
    const std::string first = sha256_file(path);
    fs::remove(path);
    write_shard(format, path, interesting_rows());
    CHECK(sha256_file(path) == first);
  });
}

TEST_CASE("every format: thousands of small samples fit in one shard") {
  for_each_format([](const Format& format, const fs::path& path) {
    std::vector<Row> rows;
    for (std::uint64_t i = 0; i < 30000; ++i) {
      rows.push_back(
          {key_of(i), static_cast<std::int64_t>(i % 1000), std::string(1 + i * 37 % 1900, 'x')});
    }
    const std::vector<ByteRange> ranges = write_shard(format, path, rows);
    const auto reader = format.open_reader(path);
    REQUIRE(reader->size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const StoredSample sample = reader->read(i);
      const bool same = sample.key == rows[i].key && sample.label == rows[i].label &&
                        as_text(sample.bytes) == rows[i].bytes &&
                        ranges[i].length == rows[i].bytes.size();
      REQUIRE(same);
    }
  });
}

TEST_CASE("every format: nothing is at the final name before close()") {
  for_each_format([](const Format& format, const fs::path& path) {
    const auto writer = format.open_writer(path, {});
    writer->add(sample_of(interesting_rows().back()));
    CHECK_FALSE(fs::exists(path));
    writer->close();
    CHECK(fs::exists(path));
  });
}

TEST_CASE("every format: a writer that is dropped leaves nothing behind") {
  for_each_format([](const Format& format, const fs::path& path) {
    {
      const auto writer = format.open_writer(path, {});
      for (const Row& row : interesting_rows()) writer->add(sample_of(row));
    }
    CHECK(fs::is_empty(root_of(format, path)));
  });
}

TEST_CASE("every format: close() leaves no temporary file behind") {
  for_each_format([](const Format& format, const fs::path& path) {
    write_shard(format, path, interesting_rows());
    CHECK(files_below(root_of(format, path)) == 1);
  });
}

TEST_CASE("every format: a key out of order is refused") {
  for_each_format([](const Format& format, const fs::path& path) {
    const auto writer = format.open_writer(path, {});
    writer->add(sample_of({"000000002", 0, "two"}));
    CHECK(kind_of_error([&] {
            writer->add(sample_of({"000000001", 0, "one"}));
          }) == ErrorKind::kUsage);
  });
}

TEST_CASE("every format: a key given twice is refused") {
  for_each_format([](const Format& format, const fs::path& path) {
    const auto writer = format.open_writer(path, {});
    writer->add(sample_of({"000000002", 0, "two"}));
    CHECK(kind_of_error([&] {
            writer->add(sample_of({"000000002", 0, "two"}));
          }) == ErrorKind::kUsage);
  });
}

TEST_CASE("every format: labels up to 2^31 - 1 survive") {
  for_each_format([](const Format& format, const fs::path& path) {
    write_shard(format, path, {{"000000000", 0, "a"}, {"000000001", 2147483647, "b"}});
    CHECK(format.open_reader(path)->read(1).label == 2147483647);
  });
}

TEST_CASE("every format: many long class names fit") {
  for_each_format([](const Format& format, const fs::path& path) {
    std::vector<std::string> classes;
    for (int i = 0; i < 22000; ++i)
      classes.push_back("a class with quite a long name, number " + std::to_string(i));
    const auto writer = format.open_writer(path, {classes});
    writer->add(sample_of({"000000000", 21999, "a"}));
    writer->close();
    CHECK(format.open_reader(path)->read(0).label == 21999);
  });
}

TEST_CASE("every format: recognises its own file and no other format's") {
  for (const Format* written : all_formats()) {
    const TemporaryDirectory directory;
    const fs::path path = shard_in(directory, *written);
    write_shard(*written, path, interesting_rows());
    for (const Format* asked : all_formats()) {
      CAPTURE(written->name);
      CAPTURE(asked->name);
      CHECK(asked->probe(path) == (asked == written));
    }
  }
}

TEST_CASE("every format: a file that is not there is an Error with its path") {
  for_each_format([](const Format& format, const fs::path& path) {
    CHECK_THROWS_AS(format.open_reader(path), Error);
  });
}

TEST_CASE("every format: a directory that cannot be written to is an Error") {
  for_each_format([](const Format& format, const fs::path& path) {
    const fs::path root = root_of(format, path);
    test::put(root / "file", "in the way");
    CHECK_THROWS_AS(format.open_writer(root / "file" / fs::relative(path, root), {}), Error);
  });
}

}  // namespace packhorse
