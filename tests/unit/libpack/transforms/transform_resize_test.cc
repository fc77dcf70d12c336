#include <doctest/doctest.h>

#include <opencv2/imgproc.hpp>
#include <thread>

#include "base/file.h"
#include "codecs/image_header.h"
#include "jpeg/decode/roi_layout.h"
#include "support/image_files.h"
#include "transform_fixtures.h"

namespace packhorse::test {

namespace {

Picture from_mat(const cv::Mat& bgr) {
  Picture picture{bgr.cols, bgr.rows, {}, bgr.channels()};
  cv::Mat rgb = bgr.clone();
  if (bgr.channels() == 3) cv::cvtColor(bgr, rgb, cv::COLOR_BGR2RGB);
  picture.pixels.assign(rgb.data, rgb.data + rgb.total() * rgb.elemSize());
  return picture;
}

cv::Mat to_mat(const Picture& picture) {
  cv::Mat mat(picture.height, picture.width, CV_8UC(picture.channels),
              const_cast<std::uint8_t*>(picture.pixels.data()));
  cv::Mat bgr = mat.clone();
  if (picture.channels == 3) cv::cvtColor(mat, bgr, cv::COLOR_RGB2BGR);
  return bgr;
}

/// Sampling factors of the frame's components, e.g. "22 11 11".
std::string sampling_of(Bytes file) {
  std::string text;
  const std::size_t frame = as_text(file).find("\xff\xc0");
  for (std::size_t c = 0; c < std::to_integer<std::size_t>(file[frame + 9]); ++c) {
    const auto factors = std::to_integer<int>(file[frame + 11 + 3 * c]);
    text += (text.empty() ? "" : " ") + std::to_string(factors >> 4) + std::to_string(factors & 15);
  }
  return text;
}

Picture shrunk(const Picture& picture, int width, int height) {
  cv::Mat small;
  cv::resize(to_mat(picture), small, cv::Size(width, height), 0, 0, cv::INTER_AREA);
  return from_mat(small);
}

}  // namespace

TEST_CASE("resize: a photo gets the short side, chroma as it was, and a table") {
  const Picture picture = make_gradient(640, 480);
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}}) {
    const Outcome made = transform("resize", make_jpeg(picture, {.h = h, .v = v, .quality = 98}),
                                   {.short_side = 200});
    CHECK(made.note == "");
    CHECK(made.info == probe_image(made.bytes).info.value());
    CHECK(made.info.width == 267);
    CHECK(made.info.height == 200);
    CHECK(find_roi_table(made.bytes));
    CHECK(sampling_of(made.bytes) == std::to_string(h) + std::to_string(v) + " 11 11");
    CHECK(psnr(decode_plainly(made.bytes), shrunk(picture, 267, 200)) > 41);
  }
  const TransformOptions subsampled{.short_side = 200, .chroma = TransformOptions::Chroma::k420};
  for (int h : {1, 2}) {
    const Outcome made = transform("resize", make_jpeg(picture, {.h = h, .v = 1}), subsampled);
    CHECK(sampling_of(made.bytes) == "22 11 11");
    CHECK(psnr(decode_plainly(made.bytes), shrunk(picture, 267, 200)) > 41);
  }
}

TEST_CASE("resize and raw: a picture with missing scans is what a decoder makes of it") {
  const Picture picture = make_picture(95, 71);
  for (std::size_t scans = 1; scans < 10; ++scans) {
    CAPTURE(scans);
    const File file = with_scans(make_jpeg(picture, {.h = 1, .v = 1, .progressive = true}), scans);
    const Picture seen = decode_plainly(file);
    // A picture no larger than asked for is transcoded where that changes nothing.
    const Outcome kept = transform("resize", file, {.quality = 100});
    CHECK(kept.note == "");
    CHECK(psnr(decode_plainly(kept.bytes), seen) > 45);
    const Outcome raw = transform("raw", file, {.size = 71});
    const Outcome same =
        transform("raw", make_jpeg(seen, {.h = 1, .v = 1, .quality = 100}), {.size = 71});
    const auto as_picture = [](const File& bytes) {
      const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
      return Picture{71, 71, {begin, begin + bytes.size()}};
    };
    CHECK(psnr(as_picture(raw.bytes), as_picture(same.bytes)) > 45);
  }
}

TEST_CASE("resize: every orientation comes out upright, with chroma in its place") {
  const Picture upright = make_gradient(301, 203);  // odd: where chroma could slip
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    cv::Mat stored = to_mat(upright);
    if (orientation >= 5) cv::transpose(stored, stored);
    const bool flip_x =
        orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool flip_y =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    if (flip_x) cv::flip(stored, stored, 1);
    if (flip_y) cv::flip(stored, stored, 0);
    const File file =
        make_jpeg(from_mat(stored), {.h = 2, .v = 2, .quality = 98, .orientation = orientation});
    const Outcome made = transform("resize", file, {.short_side = 101, .quality = 98});
    CHECK(made.info == probe_image(made.bytes).info.value());
    CHECK(made.info.orientation == 1);
    CHECK(psnr(decode_plainly(made.bytes),
               shrunk(upright, made.info.width == 150u ? 150 : 149, 101)) > 42);
    // A small picture is turned too, though not shrunk.
    const Outcome kept = transform("resize", file, {.quality = 98});
    CHECK(kept.info.width == 301);
    CHECK(psnr(decode_plainly(kept.bytes), upright) > 42);
  }
}

TEST_CASE("resize: mirrored pictures have their halved chroma where straight ones have it") {
  Picture stripes{301, 203};
  for (int i = 0; i < 301 * 203; ++i) {
    const bool red = (i % 301 / 9 + i / 301 / 9) % 2 == 0;
    stripes.pixels.insert(stripes.pixels.end(), {static_cast<std::uint8_t>(red ? 220 : 20), 60,
                                                 static_cast<std::uint8_t>(red ? 20 : 220)});
  }
  const TransformOptions options{
      .short_side = 137, .quality = 100, .chroma = TransformOptions::Chroma::k420};
  const auto resized = [&](const cv::Mat& stored, int orientation) {
    const JpegSpec spec{.h = 1, .v = 1, .quality = 100, .orientation = orientation};
    return decode_plainly(transform("resize", make_jpeg(from_mat(stored), spec), options).bytes);
  };
  const cv::Mat straight = to_mat(stripes);
  cv::Mat mirrored, upside_down;
  cv::flip(straight, mirrored, 1);
  cv::flip(straight, upside_down, 0);
  CHECK(psnr(resized(mirrored, 2), resized(straight, 1)) > 40);
  CHECK(psnr(resized(upside_down, 4), resized(straight, 1)) > 40);
}

TEST_CASE("resize: small upright JPEGs keep size and pixels") {
  for (const Picture& picture :
       {make_picture(300, 256), make_picture(20, 500), make_picture(1, 1)}) {
    const File file = make_jpeg(picture, {.progressive = true, .comment = "stays"});
    const Outcome made = transform("resize", file);
    CHECK(made.note == "size and pixels kept: no larger than asked for");
    CHECK(made.bytes == transform("roi", file).bytes);
    CHECK(decode_plainly(made.bytes) == decode_plainly(file));
    CHECK(transform("resize", made.bytes).note == "kept: already roi-ready");
  }
  const Outcome larger = transform("resize", make_jpeg(make_picture(300, 257)));
  CHECK(larger.info.height == 256);
}

TEST_CASE("resize: what it made stays as it is the next time") {
  const Outcome made = transform("resize", make_jpeg(make_picture(640, 480)));
  CHECK(transform("resize", made.bytes).bytes == made.bytes);
  CHECK(transform("roi", made.bytes).note == "kept: already roi-ready");
}

TEST_CASE("resize: of the metadata, only the colour profile stays") {
  const std::string profile(3000, 'p');
  const JpegSpec spec{.orientation = 3, .profile = profile, .comment = "goes"};
  const Outcome made = transform("resize", make_jpeg(make_gradient(400, 300), spec));
  CHECK(as_text(made.bytes).find(profile) != std::string_view::npos);
  CHECK(as_text(made.bytes).find("goes") == std::string_view::npos);
  CHECK(as_text(made.bytes).find("Exif") == std::string_view::npos);
  JpegSpec cmyk = spec;
  cmyk.h = cmyk.v = 1;
  CHECK(
      as_text(transform("resize", make_jpeg(make_picture(400, 300, 4), cmyk)).bytes).find("ICC") ==
      std::string_view::npos);
}

TEST_CASE("resize: other kinds become JPEG, and what was lost is counted") {
  const Picture picture = make_gradient(400, 300);
  const Picture small = shrunk(picture, 133, 100);
  const TransformOptions options{.short_side = 100, .quality = 98};
  const auto check = [&](const File& file, std::string_view note, const Picture& expected) {
    CAPTURE(note);
    const Outcome made = transform("resize", file, options);
    CHECK(made.note == note);
    CHECK(made.info == probe_image(made.bytes).info.value());
    CHECK(find_roi_table(made.bytes));
    CHECK(psnr(decode_plainly(made.bytes), expected) > 40);
  };
  for (const char* extension : {".png", ".bmp", ".tiff", ".ppm", ".webp"})
    check(make_image_file(extension, ImageSamples::of(picture)), "made a JPEG", small);
  Picture grey{400, 300, {}, 1};
  for (std::size_t i = 1; i < picture.pixels.size(); i += 3)
    grey.pixels.push_back(picture.pixels[i]);
  for (const char* extension : {".png", ".pgm", ".tiff"})
    check(make_image_file(extension, ImageSamples::of(grey)), "made a JPEG",
          shrunk(grey, 133, 100));
  for (const char* extension : {".png", ".tiff", ".ppm"})
    check(make_image_file(extension, ImageSamples::of(picture, 16)), "16 bit scaled to 8", small);
  Picture alpha{400, 300, {}, 4};
  for (std::size_t i = 0; i < picture.pixels.size(); i += 3) {
    alpha.pixels.insert(alpha.pixels.end(),
                        {picture.pixels[i], picture.pixels[i + 1], picture.pixels[i + 2], 255});
  }
  const ImageSamples opaque = ImageSamples::of(alpha);
  ImageSamples clear = opaque;
  for (std::size_t i = 3; i < clear.values.size(); i += 4) clear.values[i] = 0;
  for (const char* extension : {".png", ".tiff"}) {
    check(make_image_file(extension, opaque), "alpha flattened onto black", small);
    check(make_image_file(extension, clear), "alpha flattened onto black",
          {133, 100, std::vector<std::uint8_t>(133 * 100 * 3)});
  }

  Picture cmyk{400, 300, {}, 4};  // inverted, as Adobe's: CMY is RGB, without black
  for (std::size_t i = 0; i < picture.pixels.size(); i += 3) {
    cmyk.pixels.insert(cmyk.pixels.end(),
                       {picture.pixels[i], picture.pixels[i + 1], picture.pixels[i + 2], 255});
  }
  check(make_jpeg(cmyk, {.h = 1, .v = 1, .quality = 98}), "CMYK converted to RGB", small);
  check(make_jpeg(cmyk, {.ycck = true, .quality = 98}), "CMYK converted to RGB", small);
  check(make_jpeg(picture, {.h = 1, .v = 1, .rgb = true, .quality = 98}), "", small);
}

TEST_CASE("resize: narrow and tiny results are whole") {
  for (const auto& [w, h] : {std::pair{3000, 2}, {2, 3000}, {5000, 30}, {17, 9}}) {
    for (int side : {1, 2, 7}) {
      const Outcome made = transform("resize", make_jpeg(make_picture(w, h)), {.short_side = side});
      CHECK(made.info == probe_image(made.bytes).info.value());
      const Picture decoded = decode_plainly(made.bytes);
      CHECK(std::min(decoded.width, decoded.height) == std::min({side, w, h}));
    }
  }
}

TEST_CASE("resize: damage is an error, at the end of the data as well") {
  const File whole = make_jpeg(make_picture(640, 480));
  for (const double part : {0.1, 0.5, 0.99}) {
    File cut = whole;
    cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(cut.size())),
              cut.end() - 2);
    for (const char* mode : {"resize", "raw"}) {
      CHECK(kind_of_error([&] { transform(mode, cut); }) == ErrorKind::kCorrupt);
    }
  }
}

TEST_CASE("image modes: many threads make the same bytes") {
  std::vector<File> files;
  for (int i = 0; i < 12; ++i) {
    files.push_back(make_jpeg(make_picture(300 + 31 * i, 290 + 17 * i), {.h = 1 + i % 2}));
  }
  for (const char* mode : {"roi", "resize", "raw"}) {
    std::vector<File> expected(files.size()), made(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) expected[i] = transform(mode, files[i]).bytes;
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
          for (std::size_t i = files.size(); i-- > 0;) {
            if (i % 3 == t) made[i] = transform(mode, files[i]).bytes;
          }
        });
      }
    }
    CHECK((made == expected));
  }
}

TEST_CASE("resize: real photos are as good as libjpeg's") {
  double ours = 0, theirs = 0, least = 99, least_scaled = 99;
  int count = 0;
  for (const auto& path : photos()) {
    CAPTURE(path.string());
    const File file = read_file(path);
    const Picture all = decode_plainly(file);
    const Outcome made = transform("resize", file);
    if (all.channels != 3 || made.note != "") continue;
    const Picture small = decode_plainly(made.bytes);
    const Picture expected = shrunk(all, small.width, small.height);
    ours += psnr(small, expected);
    theirs += psnr(decode_plainly(make_jpeg(expected)), expected);
    ++count;
    // With almost no loss from the encoder, what remains is the resampling. Decoding at half the
    // size keeps more detail than the mean of four pixels, so those pictures differ more.
    const bool scaled = std::min(all.width, all.height) >= 512;
    const double exact =
        psnr(decode_plainly(transform("resize", file, {.quality = 100}).bytes), expected);
    CHECK(exact > (scaled ? 31 : 39));
    (scaled ? least_scaled : least) = std::min(scaled ? least_scaled : least, exact);
  }
  if (count == 0) return;
  MESSAGE("against area-resized photos: " << ours / count << " dB, libjpeg's files "
                                          << theirs / count << "; at quality 100 at least " << least
                                          << ", decoded at a reduced size " << least_scaled);
  CHECK(ours > theirs);
}

}  // namespace packhorse::test
