#include "packhorse/dataset/packed_dataset.h"

#include <thread>

#include "base/file.h"
#include "dataset/shard_index.h"
#include "support/made_dataset.h"
#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::flip_byte;
using test::kind_of_error;
using test::MadeDataset;
using test::Row;
using test::TemporaryDirectory;

std::string content(int number) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::to_string(i * number) + " ";
  return text;
}

/// Ten samples in three shards. `json` is absent in every third sample, and empty in the next.
MadeDataset made(std::string format, int zstd_level = 0) {
  MadeDataset dataset{.format = std::move(format), .zstd_level = zstd_level};
  const bool fields = find_format(dataset.format).carries_fields;
  if (fields) dataset.fields = {"json", "seg.png"};
  for (int i = 0; i < 10; ++i) {
    Row row{key_of(static_cast<std::uint64_t>(i)), i % 2, content(i)};
    if (fields) row.fields = {content(100 + i), content(200 + i)};
    if (fields && i % 3 == 0) row.fields[0].reset();
    if (fields && i % 3 == 1) row.fields[0] = "";
    dataset.rows.push_back(std::move(row));
  }
  return dataset;
}

std::vector<MadeDataset> all_kinds() {
  std::vector<MadeDataset> kinds;
  for (const Format* format : all_formats()) {
    kinds.push_back(made(std::string(format->name)));
    if (!format->compressed_suffix.empty()) kinds.push_back(made(std::string(format->name), 3));
  }
  return kinds;
}

std::string image_of(const PackedDataset& dataset, std::size_t sample) {
  std::vector<std::byte> bytes;
  dataset.read(sample, bytes);
  return std::string(as_text(bytes));
}

std::optional<std::string> field_of(const PackedDataset& dataset, std::size_t sample,
                                    std::size_t field) {
  std::vector<std::byte> bytes;
  if (!dataset.read_field(sample, field, bytes)) return std::nullopt;
  return std::string(as_text(bytes));
}

/// The key that an Error(kCorrupt) of `work` names.
std::string damaged_key(const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kCorrupt);
    CHECK(error.path().string().find("shard-1") != std::string::npos);
    return error.key();
  }
  return "none";
}

}  // namespace

TEST_CASE("packed dataset: gives back every image and field, in any order") {
  for (const MadeDataset& made : all_kinds()) {
    CAPTURE(made.format);
    CAPTURE(made.zstd_level);
    const TemporaryDirectory directory;
    made.write(directory / "out");
    const PackedDataset dataset(directory / "out");
    CHECK(dataset.fields() == made.fields);
    for (const std::size_t i : {3u, 3u, 9u, 0u, 1u, 2u, 4u, 5u, 6u, 7u, 8u}) {
      for (std::size_t field = 0; field < made.fields.size(); ++field)
        CHECK(field_of(dataset, i, field) == made.rows[i].fields[field]);
      CHECK(image_of(dataset, i) == made.rows[i].bytes);
    }
  }
}

TEST_CASE("packed dataset: two open at a time on one thread are not mixed up") {
  const TemporaryDirectory directory;
  made("wds", 3).write(directory / "a");
  MadeDataset other = made("wds", 3);
  for (Row& row : other.rows) row.bytes += "other";
  other.write(directory / "b");
  const PackedDataset a(directory / "a");
  {
    const PackedDataset b(directory / "b");
    CHECK(image_of(a, 1) + "other" == image_of(b, 1));
    CHECK(image_of(a, 1) + "other" == image_of(b, 1));
  }
  const PackedDataset again(directory / "b");
  CHECK(image_of(again, 2) == image_of(a, 2) + "other");
}

TEST_CASE("packed dataset: views stay while they are held, whatever else the thread asks for") {
  for (const MadeDataset& made : all_kinds()) {
    CAPTURE(made.format);
    CAPTURE(made.zstd_level);
    const TemporaryDirectory directory;
    made.write(directory / "out");
    const PackedDataset dataset(directory / "out");
    std::vector<BytesLease> held;
    for (std::size_t i = 0; i < dataset.size(); ++i) {
      held.push_back(dataset.view(i));
      for (std::size_t field = 0; field < made.fields.size(); ++field)
        static_cast<void>(field_of(dataset, dataset.size() - 1 - i, field));
    }
    for (std::size_t i = 0; i < dataset.size(); ++i)
      CHECK(as_text(held[i].bytes) == made.rows[i].bytes);
  }
}

TEST_CASE("packed dataset: a sample that there is not is refused") {
  const TemporaryDirectory directory;
  made("wds").write(directory / "out");
  const PackedDataset dataset(directory / "out");
  for (const std::size_t beyond : {std::size_t{10}, std::size_t{11}, ~std::size_t{0}}) {
    CHECK(kind_of_error([&] { dataset.view(beyond); }) == ErrorKind::kUsage);
    CHECK(kind_of_error([&] { image_of(dataset, beyond); }) == ErrorKind::kUsage);
    CHECK(kind_of_error([&] { field_of(dataset, beyond, 0); }) == ErrorKind::kUsage);
    CHECK(kind_of_error([&] { dataset.image(beyond); }) == ErrorKind::kUsage);
    CHECK(kind_of_error([&] { dataset.index(0)->range(beyond); }) == ErrorKind::kUsage);
    CHECK(kind_of_error([&] { dataset.index(0)->label(beyond); }) == ErrorKind::kUsage);
    CHECK(kind_of_error([&] { dataset.index(0)->key(beyond); }) == ErrorKind::kUsage);
  }
}

TEST_CASE("packed dataset: an index that is cut while it is open shows what it held, or fails") {
  const TemporaryDirectory directory;
  ShardIndexWriter writer({"json"});
  constexpr std::size_t kRows = 300;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    IndexEntry entry;
    entry.range = {i * 1000, 900};
    entry.hash = i * 0x9e3779b97f4a7c15u;
    entry.label = static_cast<std::int64_t>(i % 7);
    entry.image = {ImageKind::kJpeg, 3, 8, 1, 10, 20};
    entry.key = "key " + std::to_string(i);
    entry.path = "class/" + std::to_string(i) + ".jpg";
    entry.fields = {{i * 1000 + 900, 100}};
    entry.field_hashes = {i + 1};
    writer.add(entry);
  }
  const std::string file = writer.serialise(kRows * 1000);
  const fs::path path = directory / "index";
  std::size_t shown = 0, failed = 0;
  const auto same = [](bool right) { CHECK(right); };  // what throws goes on to the catch below
  for (std::size_t cut = 0; cut < file.size(); cut += 331) {
    test::put(path, file);
    const ShardIndex index(path);
    fs::resize_file(path, cut);
    for (std::size_t i = 0; i < kRows; i += 13) {
      try {
        same(index.label(i) == static_cast<std::int64_t>(i % 7));
        same(index.range(i) == ByteRange{i * 1000, 900});
        same(index.hash(i) == i * 0x9e3779b97f4a7c15u);
        same(index.image(i).height == 20);
        same(index.key(i) == "key " + std::to_string(i));
        same(index.path(i) == "class/" + std::to_string(i) + ".jpg");
        same(index.field_range(i, 0).length == 100);
        same(index.field_hash(i, 0) == i + 1);
        ++shown;
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::kIo);
        ++failed;
      }
    }
  }
  CHECK(failed > 10 * shown);
}

TEST_CASE("packed dataset: messages call a sample without a key by its number") {
  const TemporaryDirectory directory;
  made("lmdb").write(directory / "out");
  const PackedDataset dataset(directory / "out");
  CHECK(dataset.name_at(dataset.place(5)) == "000000005");
  const auto held = dataset.index(1);
  const ShardIndex& index = *held;
  ShardIndexWriter writer;
  for (std::size_t row = 0; row < index.size(); ++row)
    writer.add({index.range(row), index.hash(row) + 1, index.label(row), index.image(row), "", ""});
  test::put(directory / "out" / dataset.manifest().shards[1].index,
            writer.serialise(index.data_bytes()));
  const PackedDataset keyless(directory / "out");
  CHECK(keyless.name_at(keyless.place(5)) == "number 5");
  try {
    image_of(keyless, 5);
    FAIL("no Error was thrown");
  } catch (const Error& error) {
    CHECK(error.key() == "number 5");
  }
}

TEST_CASE("packed dataset: many threads read a compressed one") {
  const TemporaryDirectory directory;
  const MadeDataset made_one = made("wds", 3);
  made_one.write(directory / "out");
  const PackedDataset dataset(directory / "out");
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < 200; ++i) {
          const std::size_t sample = (i * 7 + t) % 10;
          if (image_of(dataset, sample) != made_one.rows[sample].bytes) ++wrong;
        }
      });
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("packed dataset: says what raw images are") {
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    const TemporaryDirectory directory;
    MadeDataset raw{.format = std::string(format->name), .image_mode = "raw"};
    const ImageInfo info{ImageKind::kRaw, 3, 8, 1, 5, 4};
    raw.rows = {{"000000000", 0, std::string(60, 'a'), info},
                {"000000001", 1, std::string(60, 'b'), info}};
    raw.write(directory / "out");
    const PackedDataset dataset(directory / "out");
    CHECK(dataset.image(1) == info);
    CHECK(image_of(dataset, 1) == std::string(60, 'b'));
  }
}

TEST_CASE("packed dataset: a damaged image or field is corrupt, with its shard and key") {
  for (const MadeDataset& made : all_kinds()) {
    if (made.zstd_level != 0) continue;
    CAPTURE(made.format);
    const TemporaryDirectory directory;
    made.write(directory / "out");
    const PackedDataset dataset(directory / "out");
    const auto damage = [&](ByteRange range) {
      flip_byte(dataset.data_path(1), range.offset + range.length / 2);
    };
    damage(dataset.index(1)->range(1));
    CHECK(damaged_key([&] { image_of(dataset, 5); }) == "000000005");
    if (made.fields.empty()) continue;
    CHECK(field_of(dataset, 5, 1) == made.rows[5].fields[1]);
    damage(dataset.index(1)->field_range(1, 1));
    CHECK(damaged_key([&] { field_of(dataset, 5, 1); }) == "000000005");
    CHECK(field_of(dataset, 5, 0) == made.rows[5].fields[0]);
  }
}

TEST_CASE("packed dataset: any damage in a frame is corrupt, or does not matter") {
  const TemporaryDirectory directory;
  const MadeDataset original = made("wds", 3);
  original.write(directory / "out");
  const PackedDataset dataset(directory / "out");
  const ByteRange frame = dataset.index(0)->frame(2).stored;
  int found = 0;  // flips found; a few bits do not affect the content
  for (std::uint64_t at = frame.offset; at < frame.end(); ++at) {
    flip_byte(dataset.data_path(0), at);
    image_of(dataset, 1);  // so that nothing of the frame is remembered
    try {
      const bool same = image_of(dataset, 2) == original.rows[2].bytes;
      CHECK(same);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kCorrupt);
      CHECK(error.key() == "000000002");
      ++found;
    }
    CHECK(image_of(dataset, 3) == original.rows[3].bytes);
    flip_byte(dataset.data_path(0), at);
  }
  CHECK(found + 10 >= static_cast<int>(frame.length));
  CHECK(image_of(dataset, 2) == original.rows[2].bytes);
}

TEST_CASE("packed dataset: an index that has other fields, or no frames, does not fit") {
  const TemporaryDirectory directory;
  made("wds", 3).write(directory / "out");
  const auto opens_with = [&](const auto& edit) {
    const std::string before = read_text(directory / "out/dataset.json");
    test::edit_manifest(directory / "out", edit);
    const ErrorKind kind = kind_of_error([&] { PackedDataset dataset(directory / "out"); });
    test::put(directory / "out/dataset.json", before);
    return kind;
  };
  CHECK(opens_with([](Manifest& m) { m.fields.pop_back(); }) == ErrorKind::kCorrupt);
  CHECK(opens_with([](Manifest& m) { m.compress.clear(); }) == ErrorKind::kCorrupt);
  CHECK_NOTHROW(PackedDataset(directory / "out"));
}

}  // namespace packhorse
