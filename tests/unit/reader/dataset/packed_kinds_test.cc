// Raw pixels and compressed shards must give the same batches as the files they were made from.
#include <doctest/doctest.h>

#include "base/file.h"
#include "codecs/image_header.h"
#include "image/npy.h"
#include "packhorse/reader/decode.h"
#include "packhorse/reader/loader.h"
#include "support/made_dataset.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

namespace fs = std::filesystem;
using packhorse::test::MadeDataset;
using packhorse::test::Row;

const RandomResizedCrop kCrop{.size = 24};

ImageInfo raw_info(int width, int height, std::uint8_t components = 3) {
  return {ImageKind::kRaw,
          components,
          8,
          1,
          static_cast<std::uint32_t>(width),
          static_cast<std::uint32_t>(height)};
}

File as_file(const std::vector<std::uint8_t>& pixels) {
  const Bytes bytes = std::as_bytes(std::span(pixels));
  return {bytes.begin(), bytes.end()};
}

/// The pixels of every sample of an epoch, in its order.
std::vector<std::uint8_t> pixels_of(const std::shared_ptr<const Dataset>& dataset,
                                    const Augment& augment) {
  Loader loader(dataset,
                {.batch_size = 4, .workers = 2, .augment = augment, .seed = 9, .tail = Tail::kPad});
  loader.start_epoch(2);
  std::vector<std::uint8_t> pixels;
  while (const std::optional<Batch> batch = loader.next())
    pixels.insert(pixels.end(), batch->images().begin(), batch->images().end());
  return pixels;
}

MadeDataset made_of(const std::vector<File>& files, const std::string& format, int zstd_level = 0) {
  MadeDataset made{.format = format, .zstd_level = zstd_level};
  for (const File& file : files) {
    Row row{key_of(made.rows.size()), static_cast<std::int64_t>(made.rows.size() % 2),
            std::string(as_text(file))};
    row.image = *probe_image(file).info;
    made.rows.push_back(std::move(row));
  }
  return made;
}

std::vector<File> jpegs(int count) {
  std::vector<File> files;
  for (int i = 0; i < count; ++i)
    files.push_back(make_jpeg(make_picture(45, 38, 3, static_cast<unsigned>(i))));
  return files;
}

}  // namespace

TEST_CASE("raw: decoded in full, they are themselves") {
  const Picture picture = make_picture(31, 17);
  Picture out;
  Decoder().decode_full(as_file(picture.pixels), out.pixels, out.width, out.height,
                        raw_info(31, 17));
  CHECK(out == picture);
}

TEST_CASE("raw: grey is repeated, and an orientation turns them") {
  const std::vector<std::uint8_t> grey = {1, 2, 3, 4, 5, 6};
  Picture out;
  ImageInfo info = raw_info(3, 2, 1);
  info.orientation = 3;
  Decoder().decode_full(as_file(grey), out.pixels, out.width, out.height, info);
  CHECK(out == Picture{3, 2, {6, 6, 6, 5, 5, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1}});
}

TEST_CASE("raw: any crop is the crop of a lossless file") {
  const Picture picture = make_picture(61, 47);
  std::string ppm = "P6\n61 47\n255\n";
  ppm.append(reinterpret_cast<const char*>(picture.pixels.data()), picture.pixels.size());
  for (const Augment& augment :
       {Augment{kCrop}, Augment{ResizeCenterCrop{.resize = 40, .size = 32}}, Augment{PadCrop{}}}) {
    const auto size = static_cast<std::size_t>(output_size(augment).width);
    std::vector<std::uint8_t> raw(size * size * 3), file(raw.size());
    for (std::uint64_t sample = 0; sample < 50; ++sample) {
      const SampleRandom random(1, 2, sample);
      Decoder().decode(as_file(picture.pixels), augment, random, raw, raw_info(61, 47));
      Decoder().decode(as_bytes(ppm), augment, random, file);
      REQUIRE(raw == file);
    }
  }
}

TEST_CASE("raw: not as many pixels as there should be are corrupt, two channels unsupported") {
  const std::vector<std::uint8_t> pixels(31 * 18 * 3);
  Picture out;
  const auto kind_for = [&](const ImageInfo& info) {
    return kind_of_error(
        [&] { Decoder().decode_full(as_file(pixels), out.pixels, out.width, out.height, info); });
  };
  CHECK(kind_for(raw_info(31, 17)) == ErrorKind::kCorrupt);
  CHECK(kind_for(raw_info(31, 19)) == ErrorKind::kCorrupt);
  CHECK(kind_for(raw_info(31, 18, 1)) == ErrorKind::kCorrupt);
  CHECK(kind_for(raw_info(31, 27, 2)) == ErrorKind::kUnsupported);
}

TEST_CASE("raw: a loader gives the pixels of the files they were made of, in every format") {
  const std::vector<File> files = jpegs(10);
  const auto expected = pixels_of(std::make_shared<MemoryDataset>(files), kCrop);
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    MadeDataset made = made_of(files, std::string(format->name));
    made.image_mode = "raw";
    for (Row& row : made.rows) {
      std::vector<std::uint8_t> pixels;
      int width = 0, height = 0;
      Decoder().decode_full(as_bytes(row.bytes), pixels, width, height);
      row.image = raw_info(width, height);
      row.bytes = std::string(as_text(std::as_bytes(std::span(pixels))));
    }
    const TemporaryDirectory directory;
    made.write(directory / "out");
    const auto dataset = Dataset::open(directory / "out");
    CHECK(dataset->image(3) == raw_info(45, 38));
    CHECK(dataset->bytes(3) == 45 * 38 * 3);
    const bool same = pixels_of(dataset, kCrop) == expected;
    CHECK(same);
  }
}

TEST_CASE("compressed: a loader gives the pixels of the files they were made of") {
  std::vector<File> files = jpegs(10);
  for (const fs::path& photo : photos()) {
    if (files.size() < 30) files.push_back(read_file(photo));
  }
  const TemporaryDirectory directory;
  made_of(files, "wds", 3).write(directory / "out");
  const auto dataset = Dataset::open(directory / "out");
  REQUIRE(dataset->files().front().native().ends_with(".tar.zst"));
  const auto memory = std::make_shared<MemoryDataset>(files);
  for (const Augment& augment :
       {Augment{kCrop}, Augment{ResizeCenterCrop{.resize = 64, .size = 56}}}) {
    const bool same = pixels_of(dataset, augment) == pixels_of(memory, augment);
    CHECK(same);
  }
}

TEST_CASE("compressed: a damaged sample stops the epoch with its key") {
  const TemporaryDirectory directory;
  made_of(jpegs(8), "wds", 3).write(directory / "out");
  packhorse::test::flip_byte(directory / "out/shard-0.tar.zst", 900);
  try {
    pixels_of(Dataset::open(directory / "out"), kCrop);
    FAIL("nothing was noticed");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kCorrupt);
    CHECK(error.key() == "000000000");
  }
}

}  // namespace packhorse::reader::test
