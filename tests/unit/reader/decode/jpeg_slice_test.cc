#include <doctest/doctest.h>

#include <random>

#include "base/file.h"
#include "codecs/image_header.h"
#include "decode/colours.h"
#include "decode/jpeg_decoder.h"
#include "jpeg/decode/roi_layout.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

/// Decodes by libjpeg-turbo.
Picture decode_by_libjpeg(const JpegTask& task) {
  PixelBuffer buffer;
  PictureSink sink;
  decode_colours(task.file, task.info, task.window, buffer, sink, 8 / task.scaled);
  return sink.picture;
}

/// Decodes with all decoders in turn.
Picture decode_window(const JpegTask& task) {
  const auto decoders = make_jpeg_decoders();
  PixelBuffer buffer;
  PictureSink sink;
  decode_jpeg(decoders, task, buffer, sink);
  return sink.picture;
}

JpegTask task_of(Bytes file, const Window& window = {}, int scaled = 1) {
  return {file, probe_image(file).info.value(), window, scaled};
}

/// Decodes the whole picture, scaled by libjpeg.
Picture decode_whole(Bytes file, int scaled) {
  JpegTask task = task_of(file, {}, scaled);
  const auto side = [&](std::uint32_t length) {
    return (static_cast<int>(length) + scaled - 1) / scaled;
  };
  task.window = {0, 0, side(task.info.width), side(task.info.height)};
  return decode_by_libjpeg(task);
}

/// Slices windows out of one file again and again.
struct Slicer {
  PixelBuffer sliced = {};
  int slices = 0, smaller = 0;

  /// Whether the window, sliced out if possible, has the pixels of `whole`.
  bool same(Bytes file, const Picture& whole, const Window& w, int scaled = 1) {
    JpegTask task = task_of(file, w, scaled);
    if (const std::optional<JpegSlice> slice = slice_jpeg(task, sliced)) {
      ++slices;
      smaller += slice->task.file.size() < file.size() ? 1 : 0;
      task = slice->task;
    }
    return decode_by_libjpeg(task) == window_of(whole, w.x, w.y, w.w, w.h);
  }
};

Window random_window(std::mt19937& random, const Picture& picture) {
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int w = 1 + draw(picture.width), h = 1 + draw(picture.height);
  return {draw(picture.width - w + 1), draw(picture.height - h + 1), w, h};
}

void check_windows(const JpegSpec& spec, int width, int height, int restart_mcus) {
  CAPTURE(spec.h);
  CAPTURE(spec.v);
  CAPTURE(spec.components);
  CAPTURE(width);
  CAPTURE(height);
  const int channels = spec.components == 4 ? 4 : 3;
  const File file = make_roi(
      make_jpeg(make_picture(width, height, channels),
                {.h = spec.h, .v = spec.v, .components = spec.components, .rgb = spec.rgb}),
      restart_mcus);
  REQUIRE(find_roi_table(file).has_value());
  std::mt19937 random(1);
  Slicer slicer;
  int wrong = 0;
  for (int scaled : {1, 2, 4, 8}) {
    const Picture whole = decode_whole(file, scaled);
    for (int i = 0; i < 60; ++i) {
      wrong += slicer.same(file, whole, random_window(random, whole), scaled) ? 0 : 1;
    }
    // Windows of one pixel at each place of a row and of a column have every distance from a
    // segment's border.
    for (int x = 0; x < whole.width; ++x) {
      wrong += slicer.same(file, whole, {x, whole.height / 2, 1, 1}, scaled) ? 0 : 1;
    }
    for (int y = 0; y < whole.height; ++y) {
      wrong += slicer.same(file, whole, {whole.width / 2, y, 1, 1}, scaled) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  CHECK(slicer.slices > (width > 100 ? 400 : 0));
}

/// The position of the last restart marker in MCU row `row`.
std::size_t last_marker(const File& file, std::uint32_t row) {
  const ByteRange bytes = find_roi_table(file).value().row_bytes(row);
  for (std::size_t at = bytes.end() - 2; at > bytes.offset; --at) {
    if (file[at] == std::byte{0xff} && (file[at + 1] & std::byte{0xf8}) == std::byte{0xd0})
      return at;
  }
  FAIL("no restart marker in the row");
  return 0;
}

ErrorKind decode_error(const File& file, const Window& window) {
  return kind_of_error([&] { decode_window(task_of(file, window)); });
}

}  // namespace

TEST_CASE("jpeg slice: any window of any sampling has the pixels of a full decode") {
  const int samplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}, {1, 4}, {2, 4}};
  for (const auto& [h, v] : samplings) check_windows({.h = h, .v = v}, 211, 163, 2);
}

TEST_CASE("jpeg slice: odd sizes and colour spaces, too") {
  for (int width : {129, 130, 131, 144, 147}) {
    check_windows({}, width, 97 + width % 3, 1);
    check_windows({.h = 2, .v = 1}, width, 40, 3);
  }
  for (int width : {1, 3, 17, 18, 33}) check_windows({}, width, 83, 1);
  check_windows({.h = 1, .v = 1, .components = 1}, 203, 99, 4);
  check_windows({.h = 2, .v = 2, .components = 1}, 203, 99, 4);
  check_windows({.h = 1, .v = 1, .rgb = true}, 203, 99, 4);
  check_windows({.h = 1, .v = 1, .components = 4}, 203, 99, 4);
}

TEST_CASE("jpeg slice: windows of real photos have the pixels of a full decode") {
  std::mt19937 random(2);
  Slicer slicer;
  for (const auto& path : photos()) {
    CAPTURE(path.string());
    const File file = make_roi(read_file(path));
    for (int scaled : {1, 2}) {
      const Picture whole = decode_whole(file, scaled);
      for (int i = 0; i < 4; ++i)
        CHECK(slicer.same(file, whole, random_window(random, whole), scaled));
    }
  }
  if (slicer.slices > 0) CHECK(slicer.smaller == slicer.slices);
}

TEST_CASE("jpeg slice: what it copies is the crop and little else") {
  const File file = make_roi(make_jpeg(make_picture(800, 800)));
  PixelBuffer buffer;
  const JpegSlice slice = slice_jpeg(task_of(file, {300, 300, 100, 100}), buffer).value();
  CHECK(slice.task.file.size() < file.size() / 12);
  CHECK(slice.task.info.width <= 100 + 2 * 80);  // restart segments of 5 MCUs
  CHECK(slice.task.info.height <= 100 + 2 * 16);
  CHECK(buffer.capacity() < file.size() / 4);
}

TEST_CASE("jpeg slice: the whole picture, other files and changed sizes are refused") {
  const File plain = make_jpeg(make_picture(200, 150)), file = make_roi(plain);
  PixelBuffer buffer;
  CHECK(!slice_jpeg(task_of(plain, {50, 50, 20, 20}), buffer));
  CHECK(slice_jpeg(task_of(file, {50, 50, 20, 20}), buffer));
  CHECK(!slice_jpeg(task_of(file, {0, 0, 200, 150}), buffer));
  JpegTask other = task_of(file, {50, 50, 20, 20});
  other.info.width += 8;
  CHECK(!slice_jpeg(other, buffer));
}

TEST_CASE("jpeg slice: a wrong marker number in the crop is an error") {
  const File file = make_roi(make_jpeg(make_picture(320, 160)), 2);
  const Window window{250, 70, 40, 20};
  CHECK_NOTHROW(decode_window(task_of(file, window)));
  for (std::uint32_t row : {4u, 5u}) {
    for (int other = 1; other < 8; ++other) {
      File wrong = file;
      const std::size_t at = last_marker(file, row) + 1;
      const int number = std::to_integer<int>(file[at]) & 7;
      wrong[at] = static_cast<std::byte>(0xd0 + ((number + other) & 7));
      CHECK(decode_error(wrong, window) == ErrorKind::kCorrupt);
    }
  }
}

TEST_CASE("jpeg slice: a marker lost or added in the crop is an error") {
  const File file = make_roi(make_jpeg(make_picture(320, 160)), 2);
  const Window window{250, 70, 40, 20};
  const std::size_t at = last_marker(file, 5);
  File lost = file;
  lost[at] = lost[at + 1] = std::byte{0x55};
  CHECK(decode_error(lost, window) == ErrorKind::kCorrupt);
  File added = file;
  added[at + 12] = std::byte{0xff};
  added[at + 13] = file[at + 1];
  CHECK(decode_error(added, window) == ErrorKind::kCorrupt);
}

TEST_CASE("jpeg slice: damage in the crop never gives the pixels of a sound file silently") {
  // Most damage to entropy-coded data decodes to other pixels, which only a hash can detect; damage
  // that breaks the code itself must be an error. Either way libjpeg judges it as in the whole
  // file.
  const File file = make_roi(make_jpeg(make_picture(320, 160)), 2);
  const Window window{130, 70, 40, 20};
  const RoiTable table = find_roi_table(file).value();
  const Picture sound = decode_window(task_of(file, window));
  const ByteRange bytes = table.row_bytes(5);
  int errors = 0, changed = 0;
  for (std::uint64_t i = 0; i < bytes.length; ++i) {
    File damaged = file;
    damaged[bytes.offset + i] = std::byte{0xff};
    if (i + 1 < bytes.length) damaged[bytes.offset + i + 1] = std::byte{0};
    try {
      changed += decode_window(task_of(damaged, window)) == sound ? 0 : 1;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kCorrupt);
      ++errors;
    }
  }
  CHECK(errors > 0);
  CHECK(changed > 0);
}

}  // namespace packhorse::reader::test
