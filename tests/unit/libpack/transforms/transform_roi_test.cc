#include <doctest/doctest.h>

#include "base/file.h"
#include "base/permutation.h"
#include "codecs/image_header.h"
#include "jpeg/decode/roi_layout.h"
#include "jpeg/encode/transcode.h"
#include "transform_fixtures.h"

namespace packhorse::test {

namespace {

/// Checks for the same pixels, a valid table, upright info, and nothing more to do the second time.
void check_lossless(const File& file, const TransformOptions& options = {.restart_mcus = 2}) {
  const Outcome made = transform("roi", file, options);
  CHECK(made.note == "");
  CHECK(decode_plainly(made.bytes) == decode_plainly(file));
  CHECK(find_roi_table(made.bytes));
  CHECK(made.info == probe_image(file).info.value());
  CHECK(probe_image(made.bytes).info == made.info);

  const Outcome again = transform("roi", made.bytes, options);
  CHECK(again.note == "kept: already roi-ready");
  CHECK(again.bytes == made.bytes);
}

std::size_t count_of(Bytes file, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = as_text(file).find(text, at)) != std::string_view::npos; ++at) {
    ++count;
  }
  return count;
}

void overwrite(File& file, std::size_t at, std::initializer_list<int> values) {
  for (int value : values) file[at++] = static_cast<std::byte>(value);
}

}  // namespace

TEST_CASE("roi: every sampling and kind of JPEG keeps its pixels") {
  const Picture picture = make_picture(95, 71);  // 12, 6 or 3 MCUs in a row
  const int samplings[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}};
  for (const auto& [h, v] : samplings) {
    CAPTURE(h);
    CAPTURE(v);
    check_lossless(make_jpeg(picture, {.h = h, .v = v}));
    check_lossless(make_jpeg(picture, {.h = h, .v = v, .progressive = true}));
    check_lossless(make_jpeg(picture, {.h = h, .v = v, .restart_interval = 3}));
    check_lossless(make_jpeg(picture, {.h = h, .v = v, .arithmetic = true}));
  }
  check_lossless(make_jpeg(picture, {.rgb = true}));
  check_lossless(make_jpeg(picture, {.progressive = true, .arithmetic = true}));
  for (int quality : {1, 50, 100}) check_lossless(make_jpeg(picture, {.quality = quality}));
}

TEST_CASE("roi: grey and CMYK keep their pixels") {
  for (bool progressive : {false, true}) {
    for (int factor : {1, 2}) {  // sampling of a single component, to be ignored
      check_lossless(make_jpeg(make_picture(95, 71, 1),
                               {.h = factor, .v = factor, .progressive = progressive}));
    }
    check_lossless(
        make_jpeg(make_picture(95, 71, 4), {.h = 1, .v = 1, .progressive = progressive}));
    check_lossless(make_jpeg(make_picture(95, 71, 4), {.ycck = true, .progressive = progressive}));
  }
}

TEST_CASE("roi: pictures of all small sizes keep their pixels") {
  for (int width = 1; width <= 17; width += 2) {
    for (int height = 1; height <= 33; height += 4) {
      CAPTURE(width);
      CAPTURE(height);
      check_lossless(make_jpeg(make_picture(width, height)));
    }
  }
  check_lossless(make_jpeg(make_picture(1500, 3)));
  check_lossless(make_jpeg(make_picture(3, 1500), {.h = 1, .v = 1}));
}

TEST_CASE("roi: metadata stays, once and byte for byte") {
  const File file =
      make_jpeg(make_picture(60, 40),
                {.orientation = 6, .profile = std::string(5000, 'p'), .comment = "a comment"});
  check_lossless(file);
  const Outcome made = transform("roi", file);
  CHECK(made.info.orientation == 6);
  const auto head = [](Bytes bytes, std::string_view until) {
    return as_text(bytes).substr(0, as_text(bytes).find(until));
  };
  // Everything before the tables is unchanged.
  CHECK(head(made.bytes, "\xff\xe9") == head(file, "\xff\xdb"));
  CHECK(count_of(made.bytes, "JFIF") == 1);

  const File cmyk = make_jpeg(make_picture(60, 40, 4), {.ycck = true});
  CHECK(count_of(transform("roi", cmyk).bytes, "Adobe") == 1);
  CHECK(count_of(transform("roi", make_jpeg(make_picture(60, 40), {.rgb = true})).bytes, "JFIF") ==
        0);
}

TEST_CASE("roi: each row of MCUs begins where its table says") {
  for (int target : {1, 2, 4, 8, 16, 8192}) {
    const Outcome made =
        transform("roi", make_jpeg(make_picture(192, 71)), {.restart_mcus = target});
    const RoiTable table = find_roi_table(made.bytes).value();
    CHECK(table.mcus_per_row == 12);
    CHECK(table.mcu_rows == 5);
    CHECK(table.restart_interval == static_cast<std::uint32_t>(target <= 4 ? target : 12));
    for (std::uint32_t row = 0; row < table.mcu_rows; ++row) {
      // Between the rows stand markers, and within a row those of its segments.
      const ByteRange range = table.row_bytes(row);
      std::uint32_t markers = 0;
      for (std::uint64_t i = range.offset; i + 1 < range.end(); ++i) {
        const auto next = std::to_integer<unsigned>(made.bytes[i + 1]);
        if (made.bytes[i] == std::byte{0xff} && next >= 0xd0 && next <= 0xd7) ++markers;
      }
      CHECK(markers == table.segments_per_row() - 1);
    }
  }
}

TEST_CASE("roi: another restart interval is another file") {
  const File file = make_jpeg(make_picture(192, 71));
  const File one = transform("roi", file, {.restart_mcus = 1}).bytes;
  const File four = transform("roi", file, {.restart_mcus = 4}).bytes;
  CHECK(one != four);
  CHECK(transform("roi", one, {.restart_mcus = 4}).bytes == four);
}

TEST_CASE("roi: with our decoder and with libjpeg's, the file is the same") {
  const auto check = [](const File& file, int restart_mcus) {
    const ImageInfo info = probe_image(file).info.value();
    encode::ScanCoder coder;
    File direct, by_libjpeg;
    REQUIRE(encode::transcode_direct(file, info, restart_mcus, 16, coder, direct));
    encode::transcode_by_libjpeg(file, info, restart_mcus, 16, coder, by_libjpeg);
    CHECK((direct == by_libjpeg));
  };
  const int samplings[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}};
  for (const auto& [h, v] : samplings) {
    for (int width : {1, 8, 17, 95, 203}) {
      for (int height : {1, 16, 33, 71}) {
        CAPTURE(h);
        CAPTURE(v);
        CAPTURE(width);
        CAPTURE(height);
        const Picture picture = make_picture(width, height);
        for (int interval : {0, 1, 5}) {
          const File file = make_jpeg(picture, {.h = h,
                                                .v = v,
                                                .restart_interval = interval,
                                                .orientation = 3,
                                                .profile = "a profile",
                                                .comment = "a comment"});
          check(file, 4);
          check(transform("roi", file, {.restart_mcus = 1}).bytes, 2);
        }
        check(make_jpeg(make_picture(width, height, 1), {.h = h, .v = v}), 4);
      }
    }
  }
  for (const auto& path : photos()) {
    const File file = read_file(path);
    const ImageInfo info = probe_image(file).info.value();
    if (info.kind == ImageKind::kJpeg && info.components != 4) check(file, 4);
  }
}

TEST_CASE("roi: what our decoder does not take goes through libjpeg") {
  encode::ScanCoder coder;
  File output;
  const auto direct = [&](const File& file) {
    return encode::transcode_direct(file, probe_image(file).info.value(), 4, 16, coder, output);
  };
  const Picture picture = make_picture(60, 40);
  CHECK(direct(make_jpeg(picture)));
  CHECK(direct(make_jpeg(picture, {.progressive = true})));
  CHECK(!direct(make_jpeg(picture, {.arithmetic = true})));
  CHECK(!direct(make_jpeg(picture, {.rgb = true})));
  File damaged = make_jpeg(picture);
  damaged.erase(damaged.end() - 40, damaged.end() - 2);
  CHECK(!direct(damaged));
  ImageInfo other = probe_image(make_jpeg(picture)).info.value();
  other.width += 8;
  CHECK(!encode::transcode_direct(make_jpeg(picture), other, 4, 16, coder, output));
}

TEST_CASE("roi: what is behind the end mark goes") {
  File file = make_jpeg(make_picture(60, 40));
  const File clean = transform("roi", file).bytes;
  file.insert(file.end(), 1000, std::byte{0x55});
  CHECK(transform("roi", file).bytes == clean);
}

TEST_CASE("roi: pictures behind the picture go together with the index of them, and that is said") {
  const File plain = make_jpeg(make_picture(60, 40)), second = make_jpeg(make_picture(20, 10));
  const File clean = transform("roi", plain).bytes;
  const std::string index = std::string("\xff\xe2\x00\x10MPF\0", 8) + std::string(10, 'i');
  File file = plain;
  const Bytes segment = as_bytes(index);
  file.insert(file.begin() + 2, segment.begin(), segment.end());
  CHECK(transform("roi", file).bytes == clean);
  CHECK(transform("roi", file).note == "pictures or films behind it left out");
  file = plain;
  file.insert(file.end(), second.begin(), second.end());
  CHECK(transform("roi", file).bytes == clean);
  CHECK(transform("roi", file).note == "pictures or films behind it left out");
  file = plain;
  file.insert(file.end(), 100, std::byte{0});
  CHECK(transform("roi", file).bytes == clean);
  CHECK(transform("roi", file).note == "");
}

TEST_CASE("roi: what is no plain JPEG stays, and says why") {
  const auto kept = [](const File& file, std::string_view note) {
    const ImageInfo before = probe_image(file).info.value();
    const Outcome made = transform("roi", file, before, {});
    CHECK(made.bytes == file);
    CHECK(made.note == note);
    CHECK(made.info == before);
  };
  kept(read_file(samples() / "shapes/train/balls/balls-14-cutout.png"), "kept: not a JPEG");

  File file = make_jpeg(make_picture(60, 40));
  const std::size_t frame = as_text(file).find("\xff\xc0");
  File crowded = file;
  overwrite(crowded, frame + 11, {0x44});
  kept(crowded, "kept: a JPEG whose sampling does not fit into one scan");
}

TEST_CASE(
    "roi: a progressive picture with missing scans stays as it is, as it would look otherwise") {
  for (const JpegSpec& spec :
       {JpegSpec{.progressive = true}, JpegSpec{.progressive = true, .arithmetic = true},
        JpegSpec{.h = 1, .v = 1, .progressive = true}}) {
    const File whole = make_jpeg(make_picture(95, 71), spec);
    for (std::size_t scans = 1; scans < 10; ++scans) {
      CAPTURE(scans);
      const File file = with_scans(whole, scans);
      const Outcome made = transform("roi", file);
      CHECK(made.bytes == file);
      CHECK(made.note == "kept: a progressive JPEG with missing scans");
      CHECK(made.info == probe_image(file).info.value());
    }
  }
}

TEST_CASE("roi: real photos of missing scans keep their pixels") {
  for (const auto& path : photos()) {
    const File file = read_file(path);
    if (probe_image(file).cost.scans < 3) continue;
    CAPTURE(path.string());
    const File cut = with_scans(file, 2);
    CHECK(decode_plainly(transform("roi", cut).bytes) == decode_plainly(cut));
  }
}

TEST_CASE("roi: decoded pixels are refused") {
  const File pixels(3 * 4 * 4);
  const ImageInfo info{.kind = ImageKind::kRaw, .components = 3, .width = 4, .height = 4};
  for (const char* mode : {"roi", "resize"}) {
    CHECK(kind_of_error([&] { transform(mode, pixels, info, {}); }) == ErrorKind::kUnsupported);
  }
}

TEST_CASE("roi: a picture whose data libjpeg warns of is an error") {
  File cut = make_jpeg(make_picture(83, 71));
  cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(cut.size() / 2), cut.end() - 2);
  CHECK(kind_of_error([&] { transform("roi", cut); }) == ErrorKind::kCorrupt);

  ImageInfo info = probe_image(make_jpeg(make_picture(83, 71))).info.value();
  info.width += 8;
  CHECK(kind_of_error([&] { transform("roi", make_jpeg(make_picture(83, 71)), info, {}); }) ==
        ErrorKind::kCorrupt);
}

TEST_CASE("roi: a table that does not fit its picture is none") {
  const File good = transform("roi", make_jpeg(make_picture(83, 71))).bytes;
  const std::size_t table = as_text(good).find("PHROI");
  const auto changed = [&](std::size_t at, int value) {
    File file = good;
    overwrite(file, at, {value});
    return find_roi_table(file).has_value();
  };
  const RoiTable right = find_roi_table(good).value();
  CHECK(changed(table, 'P'));
  CHECK_FALSE(changed(table + 6, 2));    // another version
  CHECK_FALSE(changed(table + 8, 200));  // another interval than DRI's
  for (std::size_t row = 0; row <= right.mcu_rows; ++row) {
    const std::size_t at = table + 10 + 4 * row;
    CHECK_FALSE(changed(at, std::to_integer<int>(good[at]) ^ 1));
    CHECK_FALSE(changed(at + 3, 0xff));
  }
  CHECK_FALSE(changed(right.scan - 1 - 12 - 2, 9));    // DRI
  CHECK_FALSE(changed(right.row_begin(1) - 1, 0xd5));  // another marker than the one due
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(find_roi_table(Bytes(good).first(size)));
  }
  CHECK_FALSE(find_roi_table(make_jpeg(make_picture(83, 71))));
}

TEST_CASE("roi: all real photos keep their pixels") {
  for (const auto& path : photos()) {
    CAPTURE(path.string());
    check_lossless(read_file(path));
  }
}

TEST_CASE("image modes: damaged real photos give a result or an error") {
  int made = 0, refused = 0;
  for (const auto& path : photos()) {
    const File whole = read_file(path);
    std::uint64_t random = whole.size();
    for (int i = 0; i < 6; ++i) {
      File file = whole;
      if (i < 2) {  // truncated, with an end marker appended
        file.resize((random = mix64(random)) % file.size());
        file.insert(file.end(), {std::byte{0xff}, std::byte{0xd9}});
      } else {
        for (int flips = 0; flips < (i < 4 ? 1 : 20); ++flips) {
          random = mix64(random);
          file[i == 3 ? random % 1000 : random % file.size()] ^=
              static_cast<std::byte>(1 << (random >> 60 & 7));
        }
      }
      const ProbeResult probe = probe_image(file);
      if (!probe.info) continue;
      for (const char* mode : {"roi", "resize", "raw"}) {
        try {
          transform(mode, file, *probe.info, {});
          ++made;
        } catch (const Error& error) {
          CHECK(error.kind() == ErrorKind::kCorrupt);
          ++refused;
        }
      }
    }
  }
  MESSAGE("damaged photos: " << made << " made into something, " << refused << " refused");
}

}  // namespace packhorse::test
