#include "packhorse/packing/unpack.h"

#include <algorithm>

#include "base/file.h"
#include "image/npy.h"
#include "packhorse/packing/pack.h"
#include "packing/staging.h"
#include "support/made_dataset.h"
#include "support/support.h"
#include "unit/libpack/packing/pack_place.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::MadeDataset;
using test::Row;
using test::TemporaryDirectory;
using test::tree;

Row row(int number, const std::string& path, std::vector<std::optional<std::string>> fields = {}) {
  Row made{key_of(static_cast<std::uint64_t>(number)), number % 2,
           "image " + std::to_string(number)};
  made.path = path;
  made.fields = std::move(fields);
  return made;
}

ErrorKind kind_of_unpacking(const MadeDataset& made) {
  const TemporaryDirectory directory;
  made.write(directory / "out");
  const ErrorKind kind = kind_of_error([&] { unpack(directory / "out", directory / "files"); });
  CHECK_FALSE(fs::exists(directory / "files"));
  return kind;
}

}  // namespace

TEST_CASE("unpack: what an unpack that was killed left is replaced") {
  const TemporaryDirectory directory;
  test::make_folder(directory / "source", 2, 3);
  pack(directory / "source", directory / "packed", pack_options("wds"));
  { const Staging killed(directory / "out", Staging::Hold::kAlone, "unpack\n"); }
  test::put(directory / "out.partial/data/half.jpg", "x");
  unpack(directory / "packed", directory / "out");
  CHECK(test::tree(directory / "out") == test::tree(directory / "source"));
  CHECK_FALSE(fs::exists(directory / "out.partial"));
}

TEST_CASE("unpack: a target that another writer works on is refused, and not touched") {
  const TemporaryDirectory directory;
  test::make_folder(directory / "source", 2, 3);
  pack(directory / "source", directory / "packed", pack_options("wds"));
  const Staging other(directory / "out", Staging::Hold::kAlone, "unpack\n");
  test::put(directory / "out.partial/data/half.jpg", "x");
  CHECK(kind_of_error([&] { unpack(directory / "packed", directory / "out"); }) ==
        ErrorKind::kExists);
  CHECK(fs::exists(directory / "out.partial/data/half.jpg"));
}

TEST_CASE("unpack: fields stand beside their image, as a folder with such fields has them") {
  for (const auto& [format, level] :
       {std::pair("wds", 0), {"wds", 3}, {"hdf5", 0}, {"lmdb-members", 0}}) {
    CAPTURE(format);
    const TemporaryDirectory directory;
    MadeDataset made{.format = format, .zstd_level = level, .fields = {"json", "seg.png"}};
    made.rows = {row(0, "cats/a.jpg", {"{}", "mask"}),
                 row(1, "dogs.v2/b.c.jpg", {"", std::nullopt}),
                 row(2, "cats/no_dot", {std::nullopt, "m"}), row(3, "", {"j", std::nullopt})};
    made.write(directory / "out");
    const UnpackReport report = unpack(directory / "out", directory / "files");
    CHECK(report.samples == 4);
    CHECK(report.bytes == 4 * 7 + 2 + 4 + 1 + 1);
    const std::pair<const char*, const char*> files[] = {
        {"cats/a.jpg", "image 0"},    {"cats/a.json", "{}"},
        {"cats/a.seg.png", "mask"},   {"dogs.v2/b.c.jpg", "image 1"},
        {"dogs.v2/b.c.json", ""},     {"cats/no_dot", "image 2"},
        {"cats/no_dot.seg.png", "m"}, {"dogs/000000003.jpg", "image 3"},
        {"dogs/000000003.json", "j"},
    };
    for (const auto& [path, text] : files) {
      CAPTURE(path);
      CHECK(read_text(directory / "files" / path) == text);
    }
    const std::string all = tree(directory / "files");
    CHECK(std::count(all.begin(), all.end(), '\n') == 9);
  }
}

TEST_CASE("unpack: a class name that leads out of the target is refused") {
  MadeDataset made{.format = "wds"};
  made.rows = {row(0, "cats/a.jpg")};
  made.classes = {"cats", "../../outside"};
  CHECK(kind_of_unpacking(made) == ErrorKind::kCorrupt);
}

TEST_CASE("unpack: raw images become NumPy files") {
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    const TemporaryDirectory directory;
    MadeDataset made{.format = std::string(format->name), .image_mode = "raw"};
    const ImageInfo info{ImageKind::kRaw, 3, 8, 1, 5, 4};
    made.rows = {{"000000000", 0, std::string(60, 'a'), info, {}, "cats/a.b.jpg"},
                 {"000000001", 1, std::string(60, 'b'), info, {}, ""}};
    made.write(directory / "out");
    unpack(directory / "out", directory / "files");
    CHECK(read_text(directory / "files/cats/a.b.npy") == npy_header(info) + std::string(60, 'a'));
    CHECK(read_text(directory / "files/dogs/000000001.npy") ==
          npy_header(info) + std::string(60, 'b'));
    CHECK_FALSE(fs::exists(directory / "files/cats/a.b.jpg"));
  }
}

TEST_CASE("unpack: a field that would be in the place of another file is refused") {
  MadeDataset made{.fields = {"json", "png"}};
  // Two images have fields of the same name; one field is another image; one is its own image.
  made.rows = {row(0, "cats/a.jpg", {"{}", std::nullopt}),
               row(1, "cats/a.bmp", {"[]", std::nullopt})};
  CHECK(kind_of_unpacking(made) == ErrorKind::kExists);
  made.rows = {row(0, "cats/a.jpg", {std::nullopt, "mask"}),
               row(1, "cats/a.png", {"1", std::nullopt})};
  CHECK(kind_of_unpacking(made) == ErrorKind::kExists);
  made.rows = {row(0, "cats/a.png", {std::nullopt, "mask"})};
  CHECK(kind_of_unpacking(made) == ErrorKind::kExists);
}

TEST_CASE("unpack: a damaged field is corrupt, and nothing is unpacked") {
  const TemporaryDirectory directory;
  MadeDataset made{.fields = {"json"}};
  made.rows = {row(0, "cats/a.jpg", {"the field's bytes"})};
  made.write(directory / "out");
  std::string shard = read_text(directory / "out/shard-0.tar");
  shard[shard.find("field's")] = 'F';
  test::put(directory / "out/shard-0.tar", shard);
  CHECK(kind_of_error([&] { unpack(directory / "out", directory / "files"); }) ==
        ErrorKind::kCorrupt);
  CHECK_FALSE(fs::exists(directory / "files"));
}

}  // namespace packhorse
