#include "codecs/image_header.h"

#include "base/file.h"
#include "support/pictures.h"
#include "support/support.h"

namespace packhorse {

namespace {

using namespace std::string_literals;
using test::samples;

/// Probes a copy that ends where the bytes end, so that a sanitizer sees every read beyond.
ProbeResult probe(std::string_view bytes, std::uint64_t max_pixels = kDefaultMaxPixels) {
  const std::vector<char> exact(bytes.begin(), bytes.end());
  return probe_image(as_bytes({exact.data(), exact.size()}), ImageLimits::of_pixels(max_pixels));
}

struct Known {
  const char* file;
  ImageInfo info;
};

/// From Pillow and the files' own headers.
constexpr Known kShapes[] = {
    {"train/balls/balls-03-upside-down.jpg", {ImageKind::kJpeg, 3, 8, 3, 140, 96}},
    {"train/balls/balls-09-lying-right.jpg", {ImageKind::kJpeg, 3, 8, 8, 160, 240}},
    {"train/balls/balls-14-cutout.png", {ImageKind::kPng, 4, 8, 1, 128, 112}},
    {"val/balls/balls-02-mirrored.jpg", {ImageKind::kJpeg, 3, 8, 5, 150, 200}},
    {"train/bricks/bricks-04-grey.jpg", {ImageKind::kJpeg, 1, 8, 1, 141, 96}},
    {"train/bricks/bricks-11-web.webp", {ImageKind::kWebp, 3, 8, 1, 192, 192}},
    {"train/bricks/bricks-16.JPG", {ImageKind::kJpeg, 3, 8, 1, 207, 259}},
    {"val/bricks/bricks-03-palette.png", {ImageKind::kPng, 3, 8, 1, 120, 96}},
    {"train/clouds/clouds-02-lying-left.jpg", {ImageKind::kJpeg, 3, 8, 6, 180, 280}},
    {"train/clouds/clouds-08-progressive.jpg", {ImageKind::kJpeg, 3, 8, 1, 300, 200}},
    {"train/clouds/clouds-13-16bit.png", {ImageKind::kPng, 1, 16, 1, 96, 96}},
    {"train/clouds/clouds-19-wide.jpg", {ImageKind::kJpeg, 3, 8, 1, 480, 270}},
    {"train/flowers/flowers-10-cmyk.jpg", {ImageKind::kJpeg, 4, 8, 1, 180, 135}},
    {"train/flowers/flowers-17-large.jpg", {ImageKind::kJpeg, 3, 8, 1, 360, 480}},
    {"train/pebbles/pebbles-12-really-a-png.jpg", {ImageKind::kPng, 3, 8, 1, 112, 96}},
    {"val/pebbles/pebbles-01-web.webp", {ImageKind::kWebp, 3, 8, 1, 136, 136}},
    {"train/wood/wood-07-bitmap.bmp", {ImageKind::kBmp, 3, 8, 1, 97, 101}},
    {"train/wood/wood-15-palette.png", {ImageKind::kPng, 3, 8, 1, 112, 128}},
};

/// One image of each kind follows. Bytes follow the end only where the kind allows it.
std::string le16(std::uint32_t value) {
  return {static_cast<char>(value), static_cast<char>(value >> 8)};
}
std::string le32(std::uint32_t value) { return le16(value & 0xffff) + le16(value >> 16); }

std::string tiff_tag(std::uint32_t tag, std::uint32_t value) {
  return le16(tag) + le16(4) + le32(1) + le32(value);
}

/// A TIFF of 5 x 2 grey pixels, lying left, which follow the only directory.
std::string tiff() {
  return "II*\0"s + le32(8) + le16(8) + tiff_tag(256, 5) + tiff_tag(257, 2) + tiff_tag(258, 8) +
         tiff_tag(259, 1) + tiff_tag(273, 110) + tiff_tag(274, 6) + tiff_tag(277, 1) +
         tiff_tag(279, 10) + le32(0) + "0123456789";
}

struct Samples {
  std::uint32_t bits = 8, channels = 1, format = 1, photometric = 1;
};

/// A TIFF of 1 x 1 pixels of such samples.
std::string tiff_of(const Samples& of) {
  return "II*\0"s + le32(8) + le16(9) + tiff_tag(256, 1) + tiff_tag(257, 1) +
         tiff_tag(258, of.bits) + tiff_tag(259, 1) + tiff_tag(262, of.photometric) +
         tiff_tag(273, 122) + tiff_tag(277, of.channels) + tiff_tag(279, 10) +
         tiff_tag(339, of.format) + le32(0) + "0123456789";
}

std::string webp(const std::string& chunks) {
  return "RIFF" + le32(static_cast<std::uint32_t>(chunks.size() + 4)) + "WEBP" + chunks;
}

/// A WebP of 300 x 200, lossless, with alpha.
std::string webp_lossless() {
  return webp("VP8L" + le32(6) + "\x2f" + le32(299 | 199 << 14 | 1 << 28) + "x");
}

/// A WebP of 70000 x 300 on an extended canvas.
std::string webp_extended(char flags, const std::string& more = "") {
  return webp("VP8X" + le32(10) + flags + "\0\0\0"s + "\x6f\x11\x01" + "\x2b\x01\x00"s + more);
}

std::string bmp_with_height(std::int32_t height) {
  return "BM" + le32(54 + 12) + le32(0) + le32(54) + le32(40) + le32(1) +
         le32(static_cast<std::uint32_t>(height)) + le16(1) + le16(24) + le32(0) + le32(12) +
         le32(0) + le32(0) + le32(0) + le32(0) + std::string(12, 'p');
}

std::string pgm() { return "P5\n# a comment\n3 2\n255\n012345"; }
std::string ppm16() { return "P6 1 1 65535\n012345"; }
std::string plain_pgm() { return "P2\n# a comment\n3 2\n255\n0 1 2\n3 4 5"; }

/// A GIF of 2 x 1 pixels of a palette of two.
std::string gif() {
  return "GIF89a" + le16(2) + le16(1) + "\x80\0\0"s + "abcdef" + "\x2c" + le32(0) + le16(2) +
         le16(1) + "\0\x02\x02\x44\x0a\0\x3b"s;
}

std::vector<std::string> one_of_each() {
  const std::filesystem::path shapes = samples() / "shapes";
  return {read_text(samples() / "broken/good/ok.jpg"),
          read_text(shapes / "val/balls/balls-02-mirrored.jpg"),
          read_text(shapes / "train/pebbles/pebbles-12-really-a-png.jpg"),
          read_text(shapes / "val/pebbles/pebbles-01-web.webp"),
          webp_lossless(),
          bmp_with_height(3),
          tiff(),
          pgm(),
          ppm16(),
          plain_pgm(),
          gif()};
}

}  // namespace

TEST_CASE("image info: the samples are what they are known to be") {
  for (const Known& known : kShapes) {
    CAPTURE(known.file);
    const ProbeResult result = probe(read_text(samples() / "shapes" / known.file));
    CAPTURE(result.reason);
    REQUIRE(result.info);
    CHECK(result.info->kind == known.info.kind);
    CHECK(result.info->components == known.info.components);
    CHECK(result.info->bit_depth == known.info.bit_depth);
    CHECK(result.info->orientation == known.info.orientation);
    CHECK(result.info->width == known.info.width);
    CHECK(result.info->height == known.info.height);
  }
}

TEST_CASE("image info: every picture among the samples is taken") {
  std::size_t pictures = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(samples() / "shapes")) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || name.starts_with('.') || name == "notes.txt" ||
        name == "README.md")
      continue;
    CAPTURE(name);
    CHECK(probe(read_text(entry.path())).info);
    ++pictures;
  }
  CHECK(pictures == 6 * (20 + 6));
}

TEST_CASE("image info: every broken sample is refused with its reason") {
  const std::pair<const char*, const char*> verdicts[] = {
      {"bomb.png", "too large: 60000 x 60000 pixels, the limit is 178956970 (--max-pixels)"},
      {"damaged_header.jpg", "damaged header: size 128 x 0"},
      {"huge.bmp", "truncated: its pixels reach beyond the end of the file"},
      {"text.jpg", "not an image: its first bytes are those of no supported kind"},
      {"truncated.jpg", "truncated: no end-of-image marker"},
      {"truncated.png", "truncated: no IEND chunk"},
      {"truncated.webp", "truncated: shorter than its header says"},
      {"zero_byte.jpg", "empty file"}};
  for (const auto& [file, reason] : verdicts) {
    CAPTURE(file);
    const ProbeResult result = probe(read_text(samples() / "broken/bad" / file));
    CHECK_FALSE(result.info);
    CHECK(result.reason == reason);
  }
  CHECK(probe(read_text(samples() / "broken/good/ok.jpg")).info);
}

TEST_CASE("image info: hand-made TIFF, WebP, BMP and Netpbm are read") {
  CHECK(probe(tiff()).info == ImageInfo{ImageKind::kTiff, 1, 8, 6, 5, 2});
  CHECK(probe(webp_lossless()).info == ImageInfo{ImageKind::kWebp, 4, 8, 1, 300, 200});
  CHECK(probe(webp_extended('\x10')).info == ImageInfo{ImageKind::kWebp, 4, 8, 1, 70000, 300});
  CHECK(probe(bmp_with_height(3)).info == ImageInfo{ImageKind::kBmp, 3, 8, 1, 1, 3});
  CHECK(probe(bmp_with_height(-3)).info == ImageInfo{ImageKind::kBmp, 3, 8, 1, 1, 3});
  CHECK(probe(pgm()).info == ImageInfo{ImageKind::kPnm, 1, 8, 1, 3, 2});
  CHECK(probe(ppm16()).info == ImageInfo{ImageKind::kPnm, 3, 16, 1, 1, 1});
}

TEST_CASE("image info: WebP keeps its orientation in EXIF, with JPEG's prefix or without") {
  const std::string exif = tiff();
  const auto length = static_cast<std::uint32_t>(exif.size());
  CHECK(probe(webp_extended('\x08', "EXIF" + le32(length) + exif)).info->orientation == 6);
  CHECK(probe(webp_extended('\x08', "EXIF" + le32(length + 6) + "Exif\0\0"s + exif))
            .info->orientation == 6);
  // A chunk of 2 bytes: the rest of the prefix and the TIFF structure form the next chunk's name,
  // length and content.
  const std::string next(0x2a4949, '\0');
  CHECK(probe(webp_extended('\x08', "EXIF" + le32(2) + "Exif\0\0"s + exif + next))
            .info->orientation == 1);
}

TEST_CASE("image info: what is not supported says so") {
  const std::string frame = "ANMF" + le32(0);
  CHECK(probe(webp_extended('\x02')).reason == "damaged: an animation of no frames");
  CHECK(probe(webp_extended('\x02', frame)).info);
  CHECK(probe(webp_extended('\x02', frame + frame)).reason ==
        "unsupported: WebP of 2 frames (--first-frame takes the first)");
  CHECK(probe("8BPS and so on").reason == "unsupported: PSD");
}

TEST_CASE("image info: a TIFF whose samples nothing decodes is of an unsupported kind") {
  constexpr std::uint32_t kRgb = 2, kCmyk = 5;
  const auto kind = [](const Samples& of) {
    const ProbeResult result = probe(tiff_of(of));
    CHECK(result.unsupported() == !result.info.has_value());
    return result.reason;
  };
  for (const std::uint32_t bits : {1u, 2u, 4u, 8u, 10u, 12u, 16u}) {
    CHECK(kind({.bits = bits}).empty());
    CHECK(kind({.bits = bits, .channels = 3, .photometric = kRgb}).empty());
    CHECK(kind({.bits = bits, .channels = 5, .photometric = kRgb}).empty());
    CHECK(kind({.bits = bits, .channels = 4, .photometric = kCmyk}).empty());
  }
  for (const std::uint32_t bits : {17u, 24u, 32u, 64u})
    CHECK(kind({.bits = bits}) == "unsupported: TIFF of " + std::to_string(bits) + " bits");
  CHECK(kind({.bits = 32, .format = 3}) ==
        "unsupported: TIFF of floating-point numbers (--bands packs them as they are)");
  for (const std::uint32_t bits : {16u, 64u})
    CHECK(kind({.bits = bits, .format = 3}) ==
          "unsupported: TIFF of floating-point numbers of " + std::to_string(bits) + " bits");
  for (const std::uint32_t format : {0u, 2u, 4u, 5u, 6u, 99u})
    CHECK(kind({.format = format}) ==
          "unsupported: TIFF of other samples than unsigned integers and floating-point numbers");
  CHECK(kind({.channels = 5}) ==
        "unsupported: TIFF of 5 bands that are no colours (--bands packs them as they are)");
  CHECK(kind({.channels = 2, .photometric = kRgb}) ==
        "unsupported: TIFF of 2 samples for 3 colours");
  CHECK(kind({.photometric = 8}) == "unsupported: TIFF of the colours 8");
}

TEST_CASE(
    "image info: a JPEG of 12 bits, a lossless and a hierarchical one are unsupported kinds") {
  const std::string good = read_text(samples() / "broken/good/ok.jpg");
  const std::size_t frame = good.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  const auto reason = [&](int start_of_frame, int bits) {
    std::string file = good;
    file[frame + 1] = static_cast<char>(start_of_frame);
    file[frame + 4] = static_cast<char>(bits);
    return probe(file).reason;
  };
  for (const int process : {0xc0, 0xc1, 0xc2, 0xc9, 0xca}) {
    CHECK(reason(process, 8).empty());
    CHECK(reason(process, 12) == "unsupported: JPEG of 12 bits");
    CHECK(reason(process, 9) == "damaged header: bad sample precision");
  }
  for (const int process : {0xc3, 0xcb}) CHECK(reason(process, 8) == "unsupported: lossless JPEG");
  for (const int process : {0xc5, 0xc6, 0xc7, 0xcd, 0xce, 0xcf})
    CHECK(reason(process, 8) == "unsupported: hierarchical JPEG");
}

TEST_CASE("image info: a Netpbm size of more digits than a number holds is refused") {
  for (const char* text : {"P5\n4294967297 1\n255\n0", "P5\n1 4294967297\n255\n0",
                           "P5\n99999999999999999999 1\n255\n0"}) {
    CHECK_FALSE(probe(text).info);
  }
}

TEST_CASE("image info: the pixel limit is exact") {
  CHECK(probe(pgm(), 6).info);
  CHECK(probe(pgm(), 5).reason == "too large: 3 x 2 pixels, the limit is 5 (--max-pixels)");
}

TEST_CASE("image limits: the scans of a JPEG are counted, whatever stands between them") {
  const test::File progressive =
      test::make_jpeg(test::make_picture(60, 40), {.progressive = true, .restart_interval = 2});
  const std::string file(as_text(progressive));
  const auto scans_of = [](const std::string& bytes) { return probe(bytes).cost.scans; };
  CHECK(scans_of(std::string(as_text(test::make_jpeg(test::make_picture(60, 40))))) == 1);
  REQUIRE(scans_of(file) == 10);  // libjpeg's script for YCbCr
  const std::size_t second = file.find("\xff\xda", file.find("\xff\xda") + 1);
  const auto with = [&](const std::string& inserted) {
    std::string longer = file;
    return longer.insert(second, inserted);
  };
  for (const std::string& harmless : {"\xff\x01"s, "\xff\xff\xff"s, "\xff\xd3"s, "\xff\x00"s,
                                      "\xff\xfe\x00\x06\xff\xda.."s, "between"s}) {
    CHECK(scans_of(with(harmless)) == 10);
  }
  const std::string scan = file.substr(second, file.find("\xff\xc4", second) - second);
  CHECK(scans_of(with(scan + scan)) == 12);
}

TEST_CASE("image limits: scans times pixels and memory are refused by name and number") {
  const test::File file = test::make_jpeg(test::make_picture(64, 48), {.progressive = true});
  ImageLimits limits;
  limits.scan_pixels = 10 * 64 * 48;
  limits.decoded_bytes = 2 * 64 * 48 * 3 / 2;  // the coefficients of 4:2:0
  CHECK(probe_image(file, limits).info);
  --limits.decoded_bytes;
  CHECK(probe_image(file, limits).reason ==
        "too large to decode: 64 x 48 pixels take 9216 bytes, the limit is 9215 "
        "(--max-decoded-bytes)");
  --limits.scan_pixels;
  const ProbeResult refused = probe_image(file, limits);
  CHECK(refused.reason ==
        "too long to decode: 10 scans of 64 x 48 pixels, in all 30720, the limit is 30719 "
        "(--max-scan-pixels)");
  CHECK(refused.beyond_limits());
  CHECK(probe_image(file, ImageLimits::of_pixels(64 * 48)).info);
  CHECK(test::kind_of_error([&] { header_to_decode(file, limits); }) == ErrorKind::kUnsupported);
  CHECK(test::kind_of_error([&] { header_to_decode(as_bytes("text"), limits); }) ==
        ErrorKind::kCorrupt);
  CHECK(probe_image(test::make_jpeg(test::make_picture(64, 48)), limits).info);
}

TEST_CASE("image limits: memory is that of the samples as they are decoded") {
  const auto bytes_of = [](const std::string& file) { return probe(file).cost.bytes; };
  CHECK(bytes_of(read_text(samples() / "shapes/train/clouds/clouds-13-16bit.png")) == 0);
  CHECK(bytes_of(read_text(samples() / "shapes/train/wood/wood-07-bitmap.bmp")) == 0);
  CHECK(bytes_of(read_text(samples() / "shapes/val/pebbles/pebbles-01-web.webp")) == 136 * 136 * 3);
  CHECK(bytes_of(webp_lossless()) == 300 * 200 * 8);
  CHECK(bytes_of(ppm16()) == 0);
  CHECK(bytes_of(tiff()) == 5 * 2);
  const auto tiled = [](std::uint32_t tile_width, std::uint32_t tile_height) {
    return "II*\0"s + le32(8) + le16(11) + tiff_tag(256, 5) + tiff_tag(257, 2) + tiff_tag(258, 16) +
           tiff_tag(259, 1) + tiff_tag(262, 2) + tiff_tag(274, 1) + tiff_tag(277, 3) +
           tiff_tag(322, tile_width) + tiff_tag(323, tile_height) + tiff_tag(324, 146) +
           tiff_tag(325, 10) + le32(0) + "0123456789";
  };
  CHECK(bytes_of(tiled(4096, 8192)) == std::uint64_t{4096} * 8192 * 3 * 2);
  CHECK(bytes_of(tiled(~0u, ~0u)) == ImageLimits::kNone);
}

TEST_CASE("image info: bytes behind the end of a JPEG or PNG do no harm") {
  for (const std::size_t i : {0u, 2u}) CHECK(probe(one_of_each()[i] + std::string(100, '\0')).info);
}

TEST_CASE("image info: cut at any length, no image is taken for whole") {
  for (const std::string& whole : one_of_each()) {
    REQUIRE(probe(whole).info);
    CAPTURE(name_of(probe(whole).info->kind));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const ProbeResult result = probe(std::string_view(whole).substr(0, size));
      const bool refused = !result.info && !result.reason.empty();
      if (!refused) CAPTURE(size);
      CHECK(refused);
    }
  }
}

TEST_CASE("image info: no flipped bit in a header leads outside the file") {
  for (const std::string& whole : one_of_each()) {
    for (std::size_t at = 0; at < std::min<std::size_t>(whole.size(), 700); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        const ProbeResult result = probe(damaged);
        REQUIRE(result.info.has_value() == result.reason.empty());
        if (result.info) REQUIRE((result.info->width > 0 && result.info->height > 0));
      }
    }
  }
}

TEST_CASE("image info: the kind is told by 16 bytes, and not by names or by two letters") {
  const ImageKind kinds[] = {ImageKind::kJpeg, ImageKind::kJpeg, ImageKind::kPng,  ImageKind::kWebp,
                             ImageKind::kWebp, ImageKind::kBmp,  ImageKind::kTiff, ImageKind::kPnm,
                             ImageKind::kPnm,  ImageKind::kPnm,  ImageKind::kGif};
  const std::vector<std::string> files = one_of_each();
  for (std::size_t i = 0; i < files.size(); ++i)
    CHECK(sniff_image(as_bytes(files[i]).first(16)) == kinds[i]);
  for (const char* text : {"", "B", "BM", "BMW is a car and no bitmap", "P5", "P65 is no Netpbm",
                           "RIFF....WAVE", "II*"}) {
    CHECK(sniff_image(as_bytes(text)) == ImageKind::kUnknown);
  }
}

TEST_CASE("image info: every kind has a name and an extension") {
  CHECK(name_of(ImageKind::kJpeg) == "jpeg");
  CHECK(extension_of(ImageKind::kJpeg) == ".jpg");
  CHECK(extension_of(ImageKind::kTiff) == ".tif");
  CHECK(name_of(ImageKind::kUnknown) == "unknown");
  CHECK(extension_of(ImageKind::kUnknown) == ".bin");
  CHECK(extension_of(ImageKind::kGif) == ".gif");
}

}  // namespace packhorse
