#include "packhorse/reader/dataset.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>

#include "base/file.h"
#include "dataset/shard_index.h"
#include "formats/format.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/packing/pack.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace fs = std::filesystem;

namespace {

/// Writes two classes of a few pictures each; returns the files' bytes by label.
std::multimap<std::int64_t, File> write_classes(const fs::path& folder, unsigned variant = 0) {
  std::multimap<std::int64_t, File> written;
  const char* classes[] = {"cats", "dogs"};
  for (unsigned i = 0; i < 7; ++i) {
    const File file = make_jpeg(make_picture(30 + static_cast<int>(i), 25, 3, variant + i));
    put(folder / classes[i % 2] / (std::to_string(i) + ".jpg"), as_text(file));
    written.emplace(i % 2, file);
  }
  return written;
}

std::multimap<std::int64_t, File> contents(const Dataset& dataset) {
  std::multimap<std::int64_t, File> all;
  File bytes;
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    dataset.read(i, bytes);
    CHECK(dataset.bytes(i) >= bytes.size());
    all.emplace(dataset.label(i), bytes);
  }
  return all;
}

/// Whether both hold the same files for each label, in any order.
bool same(std::multimap<std::int64_t, File> a, std::multimap<std::int64_t, File> b) {
  const auto sorted = [](const std::multimap<std::int64_t, File>& map) {
    std::vector<std::pair<std::int64_t, File>> pairs(map.begin(), map.end());
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  };
  return sorted(a) == sorted(b);
}

std::string message_of(const fs::path& path, const std::string& split = "") {
  try {
    Dataset::open(path, split);
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.advice();
  }
  return "";
}

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

void pack_to(const fs::path& from, const fs::path& to, const std::string& format) {
  PackOptions options;
  options.format = format;
  options.jobs = 1;
  REQUIRE(pack(from, to, options).published);
}

}  // namespace

TEST_CASE("dataset: a class folder is a dataset") {
  const TemporaryDirectory directory;
  const auto written = write_classes(directory.path() / "source");
  const auto dataset = Dataset::open(directory.path() / "source");
  CHECK(dataset->size() == 7);
  CHECK(dataset->classes() == std::vector<std::string>{"cats", "dogs"});
  CHECK(dataset->format() == "folder");
  CHECK(dataset->one_file_a_sample());
  CHECK(dataset->image_mode() == "original");
  CHECK(same(contents(*dataset), written));
  CHECK(dataset->files().size() == 7);
  CHECK(fs::path(dataset->describe(0)) == directory.path() / "source/cats/0.jpg");
  CHECK(dataset->files()[0] == directory.path() / "source/cats/0.jpg");
}

TEST_CASE("dataset: packed, it holds the same images under the same labels") {
  const TemporaryDirectory directory;
  const auto written = write_classes(directory.path() / "source");
  for (const Format* format : all_formats()) {
    const fs::path out = directory.path() / std::string(format->name);
    pack_to(directory.path() / "source", out, std::string(format->name));
    const auto dataset = Dataset::open(out);
    CHECK(dataset->size() == 7);
    CHECK(dataset->classes() == std::vector<std::string>{"cats", "dogs"});
    CHECK(dataset->format() == format->name);
    CHECK(dataset->image_mode() == "original");
    CHECK(same(contents(*dataset), written));
    REQUIRE(dataset->files().size() == 1);
    CHECK(fs::is_regular_file(dataset->files()[0]));
    CHECK(says(dataset->describe(3), "000000003"));
    CHECK(says(dataset->describe(3), dataset->files()[0].string()));
  }
}

TEST_CASE("dataset: splits are picked by name, train by default") {
  const TemporaryDirectory directory;
  const fs::path source = directory.path() / "source", out = directory.path() / "out";
  const auto train = write_classes(source / "train", 0), val = write_classes(source / "val", 100);
  pack_to(source, out, "wds");
  for (const fs::path& path : {source, out}) {
    CHECK(same(contents(*Dataset::open(path)), train));
    CHECK(same(contents(*Dataset::open(path, "train")), train));
    CHECK(same(contents(*Dataset::open(path, "val")), val));
    CHECK(same(contents(*Dataset::open(path / "val")), val));
    CHECK(says(message_of(path, "test"), "no split 'test'"));
    CHECK(says(message_of(path, "test"), "train, val"));
  }
  CHECK(same(contents(*Dataset::open(out / "val", "val")), val));
  CHECK(says(message_of(out / "val", "train"), "val"));
}

TEST_CASE("dataset: without a train split one must be named") {
  const TemporaryDirectory directory;
  for (const char* split : {"a", "b"}) {
    write_classes(directory.path() / "source");
    pack_to(directory.path() / "source", directory.path() / "out" / split, "wds");
  }
  CHECK(says(message_of(directory.path() / "out"), "a, b"));
  CHECK(Dataset::open(directory.path() / "out", "b")->size() == 7);
}

TEST_CASE("dataset: naming a split where there is none is refused") {
  const TemporaryDirectory directory;
  write_classes(directory.path() / "source");
  pack_to(directory.path() / "source", directory.path() / "out", "wds");
  for (const char* name : {"source", "out"}) {
    CHECK(kind_of_error([&] { Dataset::open(directory.path() / name, "val"); }) ==
          ErrorKind::kUsage);
  }
}

TEST_CASE("dataset: a staging directory is no dataset, however it is named") {
  const TemporaryDirectory directory;
  const fs::path staging = directory.path() / "out.partial";
  write_classes(directory.path() / "source" / "train");
  pack_to(directory.path() / "source", directory.path() / "out", "wds");
  fs::create_directories(staging);
  fs::rename(directory.path() / "out", staging / "data");
  for (const char* below : {"", "data", "data/train", "data/train/", "data/../data/train"}) {
    CAPTURE(below);
    CHECK(says(message_of(staging / below), "staging directory"));
    CHECK(says(message_of(staging / below), "packhorse pack"));
  }
}

TEST_CASE(
    "dataset: a folder whose name ends in .partial outside packing is refused, one below is not") {
  const TemporaryDirectory directory;
  const fs::path folder = directory.path() / "download.partial" / "images";
  write_classes(folder);
  CHECK(Dataset::open(folder)->size() == 7);
}

TEST_CASE("dataset: a folder has the splits and classes that packing it would give") {
  const TemporaryDirectory directory;
  write_classes(directory / "all/Training");
  write_classes(directory / "all/valid", 40);
  CHECK(Dataset::open(directory.path())->size() == 7);
  const auto val = Dataset::open(directory.path(), "val");
  CHECK(val->classes() == std::vector<std::string>{"cats", "dogs"});
  CHECK(fs::exists(val->files().front()));
}

TEST_CASE("dataset: folders that could give wrong labels are refused, where labels matter") {
  const TemporaryDirectory directory;
  write_classes(directory / "classes");
  fs::rename(directory / "classes/cats", directory / "classes/images");
  fs::rename(directory / "classes/dogs", directory / "classes/masks");
  CHECK(kind_of_error([&] { Dataset::open(directory / "classes"); }) == ErrorKind::kUsage);
  CHECK(Dataset::open(directory / "classes", "", OddClasses::kTake)->size() == 7);
  fs::remove_all(directory / "classes/masks");
  fs::rename(directory / "classes/images", directory / "classes/cats");
  CHECK(Dataset::open(directory / "classes")->size() == 4);  // one class is no wrong label
}

TEST_CASE("dataset: missing and empty paths are not found") {
  const TemporaryDirectory directory;
  CHECK(kind_of_error([&] { Dataset::open(directory.path() / "nowhere"); }) ==
        ErrorKind::kNotFound);
  CHECK(kind_of_error([&] { Dataset::open(directory.path()); }) == ErrorKind::kNotFound);
}

TEST_CASE("dataset: a changed byte of a packed image is an error with its key") {
  const TemporaryDirectory directory;
  write_classes(directory.path() / "source");
  pack_to(directory.path() / "source", directory.path() / "out", "wds");
  const ByteRange range = PackedDataset(directory.path() / "out").index(0)->range(4);
  const auto dataset = Dataset::open(directory.path() / "out");
  std::fstream file(dataset->files()[0], std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(range.offset + range.length / 2));
  file.put('\x5a').put('\xa5').flush();
  File bytes;
  dataset->read(3, bytes);
  try {
    dataset->read(4, bytes);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kCorrupt);
    CHECK(error.key() == "000000004");
  }
}

TEST_CASE("dataset: a file that vanishes is an error with its path") {
  const TemporaryDirectory directory;
  write_classes(directory.path() / "source");
  const auto dataset = Dataset::open(directory.path() / "source");
  fs::remove(dataset->files()[2]);
  File bytes;
  try {
    dataset->read(2, bytes);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kNotFound);
    CHECK(error.path() == dataset->files()[2]);
  }
}

}  // namespace packhorse::reader::test
