#include "decode/colours.h"

#include <doctest/doctest.h>

#include <random>

#include "base/file.h"
#include "codecs/image_header.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

Picture decoded_window(Bytes file, const Window& window, PixelBuffer& buffer) {
  const ImageInfo info = probe_image(file).info.value();
  PictureSink sink;
  decode_colours(file, info, window, buffer, sink);
  REQUIRE(sink.picture.width == window.w);
  REQUIRE(sink.picture.height == window.h);
  return sink.picture;
}

/// Windows that begin and end at every column with a few rows, and at every row with a few columns.
std::vector<Window> windows_of(int width, int height) {
  std::vector<Window> windows;
  for (int length : {1, 2, 3, 8, 15, 16, 17, 33, width}) {
    for (int x = 0; x + length <= width; ++x)
      windows.push_back({x, (x * 5) % (height - 9), length, 9});
  }
  for (int length : {1, 2, 3, 8, 15, 16, 17, 33, height}) {
    for (int y = 0; y + length <= height; ++y)
      windows.push_back({(y * 7) % (width - 21), y, 21, length});
  }
  return windows;
}

void check_all_windows(const JpegSpec& spec) {
  CAPTURE(spec.h);
  CAPTURE(spec.v);
  CAPTURE(spec.components);
  CAPTURE(spec.progressive);
  CAPTURE(spec.restart_interval);
  const File file = make_jpeg(make_picture(83, 71), spec);
  const Picture full = decode_plainly(file);
  PixelBuffer buffer;
  int wrong = 0;
  for (const Window& w : windows_of(full.width, full.height)) {
    if (decoded_window(file, w, buffer) == window_of(full, w.x, w.y, w.w, w.h)) continue;
    if (++wrong == 1)
      MESSAGE("first wrong window: " << w.x << "," << w.y << " " << w.w << "x" << w.h);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("jpeg: any window of any sampling has the pixels of a full decode") {
  const int samplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}, {1, 4}, {2, 4}};
  for (const auto& [h, v] : samplings) {
    check_all_windows({.h = h, .v = v});
    check_all_windows({.h = h, .v = v, .restart_interval = 3});
    check_all_windows({.h = h, .v = v, .progressive = true});
  }
  check_all_windows({.h = 1, .v = 1, .components = 1});
  check_all_windows({.h = 1, .v = 1, .components = 1, .progressive = true});
}

TEST_CASE("jpeg: tiny pictures decode like anywhere else") {
  PixelBuffer buffer;
  for (int width : {1, 2, 3, 5, 17}) {
    for (int height : {1, 2, 3, 9}) {
      const File file = make_jpeg(make_picture(width, height));
      const Picture full = decode_plainly(file);
      CHECK(decoded_window(file, {0, 0, width, height}, buffer) == full);
      CHECK(decoded_window(file, {width - 1, height - 1, 1, 1}, buffer) ==
            window_of(full, width - 1, height - 1, 1, 1));
    }
  }
}

TEST_CASE("jpeg: windows of real photos have the pixels of a full decode") {
  std::mt19937 random(1);
  PixelBuffer buffer;
  for (const auto& path : photos()) {
    CAPTURE(path.string());
    const File file = read_file(path);
    if (probe_image(file).info.value().components == 4) continue;
    const Picture full = decode_plainly(file);
    for (int i = 0; i < 4; ++i) {
      const auto draw = [&](int n) {
        return static_cast<int>(random() % static_cast<unsigned>(n));
      };
      const int w = 1 + draw(full.width), h = 1 + draw(full.height);
      const Window window{draw(full.width - w + 1), draw(full.height - h + 1), w, h};
      CHECK(decoded_window(file, window, buffer) == window_of(full, window.x, window.y, w, h));
    }
  }
}

TEST_CASE("jpeg: CMYK and YCCK become the colours they were made from") {
  const Picture picture = make_picture(64, 48);
  PixelBuffer buffer;
  for (bool ycck : {false, true}) {
    for (bool adobe : {false, true}) {
      if (ycck && !adobe) continue;  // without the marker it cannot be told from CMYK
      const JpegSpec spec{
          .h = 1, .v = 1, .components = 4, .ycck = ycck, .adobe = adobe, .quality = 100};
      const File file = make_jpeg(picture, spec);
      const Picture full = decoded_window(file, {0, 0, 64, 48}, buffer);
      CHECK(largest_difference(full, picture) <= (ycck ? 12 : 4));
      CHECK(decoded_window(file, {19, 11, 30, 20}, buffer) == window_of(full, 19, 11, 30, 20));
    }
  }
}

TEST_CASE("jpeg: damage is an error, not pixels") {
  const File whole = make_jpeg(make_picture(83, 71));
  PixelBuffer buffer;
  const auto decode_all = [&](const File& file) { decoded_window(file, {0, 0, 83, 71}, buffer); };
  decode_all(whole);

  File cut = whole;  // the end mark is there, but half of the picture is not
  cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(cut.size() / 2), cut.end() - 2);
  CHECK(kind_of_error([&] { decode_all(cut); }) == ErrorKind::kCorrupt);

  File no_tables =
      whole;  // a quantisation table becomes a comment: those of earlier files must not serve
  for (std::size_t i = 0; i + 1 < no_tables.size(); ++i) {
    if (no_tables[i] == std::byte{0xff} && no_tables[i + 1] == std::byte{0xdb}) {
      no_tables[i + 1] = std::byte{0xfe};
      break;
    }
  }
  CHECK(kind_of_error([&] { decode_all(no_tables); }) == ErrorKind::kCorrupt);
  decode_all(whole);
}

TEST_CASE("jpeg: a header that changes its mind is an error") {
  const File file = make_jpeg(make_picture(83, 71));
  ImageInfo info = probe_image(file).info.value();
  info.width += 8;
  PixelBuffer buffer;
  PictureSink sink;
  CHECK(kind_of_error([&] {
          decode_colours(file, info, {0, 0, 91, 71}, buffer, sink);
        }) == ErrorKind::kCorrupt);
}

}  // namespace packhorse::reader::test
