#include "packhorse/reader/decode.h"

#include <doctest/doctest.h>

#include "base/file.h"
#include "codecs/image_header.h"
#include "decode/colours.h"
#include "decode/resample.h"
#include "support/image_files.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

using packhorse::test::ImageSamples;
using packhorse::test::make_float_tiff;
using packhorse::test::make_image_file;

namespace {

Picture decode_full(Bytes file, DecodeOptions options = {}) {
  Picture picture;
  Decoder(options).decode_full(file, picture.pixels, picture.width, picture.height);
  return picture;
}

Picture decode(Bytes file, const Augment& augment, std::uint64_t sample = 0) {
  const int size = output_size(augment).width;
  Picture picture{size, size, std::vector<std::uint8_t>(static_cast<std::size_t>(size * size * 3))};
  Decoder().decode(file, augment, SampleRandom(0, 0, sample), picture.pixels);
  return picture;
}

/// Applies an EXIF orientation: where pixel (x, y) of the upright picture lies in the stored one.
Picture turned(const Picture& stored, int orientation) {
  const int w = stored.width, h = stored.height;
  Picture upright{orientation >= 5 ? h : w, orientation >= 5 ? w : h, {}};
  upright.pixels.resize(stored.pixels.size());
  for (int y = 0; y < upright.height; ++y) {
    for (int x = 0; x < upright.width; ++x) {
      const int from[9][2] = {{0, 0},         {x, y}, {w - 1 - x, y}, {w - 1 - x, h - 1 - y},
                              {x, h - 1 - y}, {y, x}, {y, h - 1 - x}, {w - 1 - y, h - 1 - x},
                              {w - 1 - y, x}};
      const std::uint8_t* p = stored.at(from[orientation][0], from[orientation][1]);
      std::copy(p, p + 3, upright.at(x, y));
    }
  }
  return upright;
}

}  // namespace

TEST_CASE("decode: several crops at once have the pixels of each alone, for every kind and turn") {
  const Augment augments[] = {RandomResizedCrop{.size = {40, 64}, .min_scale = 0.4},
                              RandomResizedCrop{.size = 16, .max_scale = 0.05},
                              ResizeCenterCrop{50, 44, Interpolation::kBicubic},
                              CenterCrop{300},
                              RandomResizedCrop{.size = 16, .max_scale = 0.05},
                              PadCrop{.interpolation = Interpolation::kRandom}};
  const PixelSteps none, steps = parse_pixel_steps("ColorJitter(brightness=0.4)");
  const Picture picture = make_picture(183, 161);
  std::vector<File> files = {make_roi(make_jpeg(picture)),
                             make_image_file(".png", ImageSamples::of(picture)),
                             make_image_file(".bmp", ImageSamples::of(picture))};
  for (int turn = 1; turn <= 8; ++turn) files.push_back(make_jpeg(picture, {.orientation = turn}));
  Decoder together, alone;
  for (std::size_t f = 0; f < files.size(); ++f) {
    for (const std::size_t count : {6u, 2u, 4u}) {
      std::vector<std::vector<std::uint8_t>> pixels(count);
      std::vector<CropRequest> crops;
      for (std::size_t i = 0; i < count; ++i) {
        const auto [height, width] = output_size(augments[i]);
        pixels[i].resize(static_cast<std::size_t>(height) * static_cast<std::size_t>(width) * 3);
        crops.push_back({augments[i], i == 1 ? steps : none, SampleRandom(f, count, i), pixels[i]});
      }
      together.decode(files[f], crops);
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<std::uint8_t> expected(pixels[i].size());
        alone.decode(files[f], crops[i].augment, crops[i].random, expected);
        apply(crops[i].pixels, crops[i].random, output_size(augments[i]).width, expected);
        CAPTURE(f);
        CAPTURE(i);
        CHECK((pixels[i] == expected));
      }
    }
  }
}

TEST_CASE("decode: every EXIF orientation comes upright, unless told not to") {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    const File file = make_jpeg(make_picture(83, 61), {.orientation = orientation});
    const Picture stored = decode_plainly(file);
    CHECK(decode_full(file) == turned(stored, orientation));
    CHECK(decode_full(file, {.apply_orientation = false}) == stored);
  }
}

TEST_CASE("decode: crops of turned pictures are crops of the upright picture") {
  // An upright lossless copy is decoded with the same random numbers.
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    const File file = make_jpeg(make_picture(183, 131), {.orientation = orientation});
    const File upright =
        make_image_file(".png", ImageSamples::of(turned(decode_plainly(file), orientation)));
    for (std::uint64_t sample = 0; sample < 10; ++sample) {
      const Augment crops[] = {RandomResizedCrop{.size = 64},
                               ResizeCenterCrop{.resize = 72, .size = 64}, PadCrop{.size = 40},
                               ResizeCenterCrop{.resize = 50, .size = 64}};
      for (const Augment& crop : crops) {
        REQUIRE(largest_difference(decode(file, crop, sample), decode(upright, crop, sample)) <= 2);
      }
    }
  }
}

TEST_CASE("decode: the same bytes and numbers give the same pixels, others do not") {
  const File file = make_jpeg(make_picture(200, 150));
  CHECK(decode(file, RandomResizedCrop{.size = 50}, 5) ==
        decode(file, RandomResizedCrop{.size = 50}, 5));
  CHECK(decode(file, RandomResizedCrop{.size = 50}, 5) !=
        decode(file, RandomResizedCrop{.size = 50}, 6));
}

TEST_CASE("decode: a decoder gives the same pixels whatever it decoded before") {
  const File large = make_jpeg(make_picture(300, 200, 3, 1)),
             small = make_jpeg(make_picture(60, 50, 3, 2));
  const RandomResizedCrop crop{.size = 48};
  Decoder decoder;
  std::vector<std::uint8_t> out(48 * 48 * 3), broken(out);
  decoder.decode(large, crop, SampleRandom(0, 0, 1), out);
  File damaged = large;
  damaged.resize(damaged.size() / 2);
  CHECK_THROWS_AS(decoder.decode(damaged, crop, SampleRandom(0, 0, 1), broken), Error);
  decoder.decode(small, crop, SampleRandom(0, 0, 2), out);
  CHECK(out == decode(small, crop, 2).pixels);
}

TEST_CASE("decode: lossless kinds keep every pixel") {
  const Picture picture = make_picture(75, 52);
  for (const char* extension : {".png", ".bmp", ".tiff", ".ppm", ".webp"}) {
    CAPTURE(extension);
    CHECK(decode_full(make_image_file(extension, ImageSamples::of(picture))) == picture);
  }
}

TEST_CASE("decode: a crop of any kind is that of its pixels") {
  const Picture picture = make_picture(175, 152);
  const Picture expected =
      decode(make_image_file(".png", ImageSamples::of(picture)), RandomResizedCrop{.size = 64}, 3);
  for (const char* extension : {".bmp", ".tiff", ".ppm", ".webp"}) {
    CHECK(decode(make_image_file(extension, ImageSamples::of(picture)),
                 RandomResizedCrop{.size = 64}, 3) == expected);
  }
}

TEST_CASE("decode: grey becomes three equal channels") {
  const ImageSamples grey{30, 20, 1, 8, std::vector<std::uint16_t>(20 * 30, 99)};
  for (const char* extension : {".png", ".pgm", ".tiff"}) {
    CHECK(decode_full(make_image_file(extension, grey)).pixels ==
          std::vector<std::uint8_t>(20 * 30 * 3, 99));
  }
  const Picture jpeg =
      decode_full(make_jpeg(make_picture(30, 20), {.h = 1, .v = 1, .components = 1}));
  CHECK(jpeg.at(7, 7)[0] == jpeg.at(7, 7)[1]);
  CHECK(jpeg.at(7, 7)[0] == jpeg.at(7, 7)[2]);
}

TEST_CASE("decode: alpha is flattened onto black") {
  const ImageSamples image{3, 1, 4, 8, {200, 20, 10, 255, 200, 20, 10, 0, 200, 20, 10, 128}};
  const Picture picture = decode_full(make_image_file(".png", image));
  CHECK(picture.pixels == std::vector<std::uint8_t>{200, 20, 10, 0, 0, 0, 100, 10, 5});
}

TEST_CASE("decode: 16 bit is scaled to 8") {
  const ImageSamples image{4, 1, 1, 16, {0, 65535, 32768, 257 * 5}};
  for (const char* extension : {".png", ".pgm"}) {
    const Picture picture = decode_full(make_image_file(extension, image));
    CHECK(picture.at(0, 0)[0] == 0);
    CHECK(picture.at(1, 0)[0] == 255);
    CHECK(picture.at(2, 0)[1] == 128);
    CHECK(picture.at(3, 0)[2] == 5);
  }
}

TEST_CASE("decode: a PGM's maximum value is white") {
  const std::string text = "P5 # comment\n3 1\n100\n" + std::string("\x00\x32\x64", 3);
  const Picture picture = decode_full(as_bytes(text));
  CHECK(picture.at(0, 0)[0] == 0);
  CHECK(picture.at(1, 0)[0] == 128);
  CHECK(picture.at(2, 0)[0] == 255);
}

TEST_CASE("decode: a palette PNG has its colours") {
  // A PNG of 2 x 1, palette of blue and orange, made by hand with a stored deflate block.
  const std::uint8_t file[] = {
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
      0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x01, 0x03, 0x00, 0x00, 0x00, 0xce,
      0xec, 0xed, 0xc9, 0x00, 0x00, 0x00, 0x06, 0x50, 0x4c, 0x54, 0x45, 0x00, 0x00, 0xff, 0xff,
      0x80, 0x00, 0xfe, 0x79, 0x13, 0x98, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x44, 0x41, 0x54, 0x78,
      0x01, 0x01, 0x02, 0x00, 0xfd, 0xff, 0x00, 0x40, 0x00, 0x42, 0x00, 0x41, 0x20, 0xb0, 0x99,
      0xcb, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  CHECK(decode_full(std::as_bytes(std::span(file))).pixels ==
        std::vector<std::uint8_t>{0, 0, 255, 255, 128, 0});
}

TEST_CASE("decode: padding is black and pictures of the output's size are not scaled") {
  const Picture picture = make_picture(32, 32);
  const File file = make_image_file(".png", ImageSamples::of(picture));
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    const PadCrop crop{.flip = 0};
    const CropPlan plan = plan_crop(crop, 32, 32, SampleRandom(0, 0, sample));
    const Picture out = decode(file, crop, sample);
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 32; ++x) {
        const int from_x = x + plan.left, from_y = y + plan.top;
        const bool inside = from_x >= 0 && from_y >= 0 && from_x < 32 && from_y < 32;
        REQUIRE(out.at(x, y)[0] == (inside ? picture.at(from_x, from_y)[0] : 0));
      }
    }
  }
}

TEST_CASE("decode: extreme shapes are decoded in bounded memory") {
  // Some blocks' rows as wide as the picture, and what our decoder keeps anyway.
  constexpr std::size_t kRoom = std::size_t{3} * 30000 * 32 + (std::size_t{1} << 20);
  for (const auto& [width, height] : {std::pair(30000, 1), std::pair(1, 30000)}) {
    const File file = make_jpeg(make_picture(width, height));
    for (const Augment& crop :
         {Augment(RandomResizedCrop{}), Augment(ResizeCenterCrop{}), Augment(PadCrop{})}) {
      Decoder decoder;
      const auto side = static_cast<std::size_t>(output_size(crop).width);
      std::vector<std::uint8_t> out(side * side * 3);
      decoder.decode(file, crop, SampleRandom(0, 0, 0), out);
      CHECK(decoder.kept_bytes() <= kRoom);
    }
  }
}

TEST_CASE("decode: what cannot be decoded is an error with a reason") {
  const auto kind_for = [](Bytes file) { return kind_of_error([&] { decode(file, PadCrop{}); }); };
  CHECK(kind_for({}) == ErrorKind::kCorrupt);
  CHECK(kind_for(as_bytes("just a text")) == ErrorKind::kCorrupt);
  File png = make_image_file(".png", ImageSamples::of(make_picture(64, 64)));
  png[png.size() / 2] ^= std::byte{0x10};
  CHECK(kind_of_error([&] { decode_full(png); }) == ErrorKind::kCorrupt);
  CHECK(kind_for(make_float_tiff()) == ErrorKind::kUnsupported);
}

TEST_CASE("decode: room of the wrong size is refused") {
  std::vector<std::uint8_t> out(100);
  const File file = make_jpeg(make_picture(20, 20));
  CHECK(kind_of_error([&] { Decoder().decode(file, PadCrop{}, SampleRandom(0, 0, 0), out); }) ==
        ErrorKind::kUsage);
}

TEST_CASE("decode: what our JPEG decoder does not take goes to libjpeg, counted by reason") {
  Decoder decoder;
  const Picture picture = make_picture(40, 30);
  const auto check = [&](const JpegSpec& spec) {
    const File file = make_jpeg(picture, spec);
    Picture out;
    decoder.decode_full(file, out.pixels, out.width, out.height);
    CHECK(out == decode_plainly(file));
  };
  const auto by_libjpeg = [&](jpeg::Reason reason) {
    return decoder.counters().by_libjpeg[static_cast<std::size_t>(reason)];
  };
  check({});
  check({.h = 1, .v = 2, .restart_interval = 2});
  CHECK(decoder.counters().jpegs == 2);
  check({.progressive = true});
  CHECK(decoder.counters().jpegs == 3);
  check({.progressive = true, .arithmetic = true});
  check({.h = 4, .v = 1});
  CHECK(decoder.counters().jpegs == 3);
  CHECK(by_libjpeg(jpeg::Reason::kArithmetic) == 1);
  CHECK(by_libjpeg(jpeg::Reason::kSampling) == 1);

  File cut = make_jpeg(picture);  // damaged: libjpeg reports how
  cut.erase(cut.end() - 40, cut.end() - 2);
  Picture out;
  CHECK(kind_of_error([&] { decoder.decode_full(cut, out.pixels, out.width, out.height); }) ==
        ErrorKind::kCorrupt);
  CHECK(by_libjpeg(jpeg::Reason::kDamaged) == 1);
}

TEST_CASE("decode: an image beyond the limits is refused before the work, all others are decoded") {
  const File progressive = make_jpeg(make_picture(40, 30), {.progressive = true});
  ImageLimits limits;
  limits.scan_pixels = 10 * 40 * 30;
  CHECK(decode_full(progressive, {.limits = limits}) == decode_full(progressive));
  --limits.scan_pixels;
  const auto refused = [&](const File& file) {
    return kind_of_error([&] { decode_full(file, {.limits = limits}); });
  };
  CHECK(refused(progressive) == ErrorKind::kUnsupported);
  const File baseline = make_jpeg(make_picture(40, 30));
  CHECK(decode_full(baseline, {.limits = limits}) == decode_full(baseline));
  limits.pixels = 40 * 30 - 1;
  CHECK(refused(baseline) == ErrorKind::kUnsupported);
}

TEST_CASE("decode: libjpeg begins anew where our JPEG decoder refuses at the end of the scan") {
  for (int restart_interval : {0, 13}) {
    const File file = make_jpeg(make_picture(203, 160), {.restart_interval = restart_interval});
    File ends_otherwise = file;  // with a marker that libjpeg does not mind
    const std::byte marker[] = {std::byte{0xff}, std::byte{0xd0}};
    ends_otherwise.insert(ends_otherwise.end() - 2, std::begin(marker), std::end(marker));
    Decoder decoder;
    Picture out;
    decoder.decode_full(ends_otherwise, out.pixels, out.width, out.height);
    CHECK((out == decode_plainly(file)));
    Picture scaled{64, 64, std::vector<std::uint8_t>(64 * 64 * 3)};
    decoder.decode(ends_otherwise, Resize{64}, SampleRandom(0, 0, 0), scaled.pixels);
    CHECK((scaled == decode(file, Resize{64})));
    CHECK(decoder.counters().by_libjpeg[static_cast<std::size_t>(jpeg::Reason::kDamaged)] == 2);
  }
}

TEST_CASE("decode: rows scaled as they come have the pixels of a window that is scaled at once") {
  const auto shrinking = [](const CropPlan& plan) {
    for (const int shrunk : {8, 4, 2}) {
      if (plan.w / shrunk >= plan.scaled_w && plan.h / shrunk >= plan.scaled_h) return shrunk;
    }
    return 1;
  };
  Resampler resampler;
  PixelBuffer buffer;
  for (const auto& path : photos()) {
    CAPTURE(path.string());
    const File original = read_file(path);
    const ImageInfo info = probe_image(original).info.value();
    if (info.kind != ImageKind::kJpeg) continue;
    const int width = static_cast<int>(info.width), height = static_cast<int>(info.height);
    const Turn turn(info.orientation);
    for (const File& file : {original, make_roi(original)}) {
      for (const int size : {40, 224, 500}) {
        const RandomResizedCrop crop{.size = size};
        const SampleRandom random(0, 0, file.size());  // with and without a flip
        const CropPlan plan = turn.swap ? plan_crop(crop, height, width, random)
                                        : plan_crop(crop, width, height, random);
        for (const ScaledDct scaled : {ScaledDct::kOff, ScaledDct::kWhenCovered}) {
          const int shrunk = scaled == ScaledDct::kOff ? 1 : shrinking(plan);
          const Window window = resampler.prepare(plan, turn, size, width, height, shrunk);
          std::vector<std::uint8_t> at_once(static_cast<std::size_t>(size * size * 3)),
              by_rows(at_once.size());
          resampler.write_to(at_once.data(), static_cast<std::size_t>(size) * 3);
          PictureSink whole;
          decode_colours(file, info, window, buffer, whole, 8 / shrunk);
          Picture& picture = whole.picture;
          picture.pixels.resize(picture.pixels.size() + PixelBuffer::kSlack);
          resampler.take({picture.pixels.data(), picture.width, picture.height,
                          static_cast<std::size_t>(picture.width) * 3});
          Decoder({.scaled_dct = scaled}).decode(file, crop, random, by_rows);
          REQUIRE((by_rows == at_once));
        }
      }
    }
  }
}

TEST_CASE("decode: real photos decode with every augmentation") {
  const Augment crops[] = {RandomResizedCrop{}, ResizeCenterCrop{}, PadCrop{}};
  for (const auto& path : photos()) {
    CAPTURE(path.string());
    const File file = read_file(path);
    for (const Augment& crop : crops) CHECK_NOTHROW(decode(file, crop, 1));
  }
}

}  // namespace packhorse::reader::test
