#include <doctest/doctest.h>
#include <hwy/detect_compiler_arch.h>

#include <algorithm>
#include <random>
#include <span>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "codecs/image_header.h"
#include "fixtures.h"
#include "jpeg/decode/coefficients.h"
#include "jpeg/decode/roi_layout.h"
#include "support/instruction_sets.h"

namespace packhorse::jpeg::test {

using packhorse::test::Picture;

namespace {

struct Sampling {
  int h, v, components;
};
constexpr Sampling kSamplings[] = {{1, 1, 3}, {2, 1, 3}, {1, 2, 3}, {2, 2, 3}, {1, 1, 1}};

JpegSpec spec_of(const Sampling& sampling, int restart_interval = 0, int quality = 90) {
  return {.h = sampling.h,
          .v = sampling.v,
          .components = sampling.components,
          .restart_interval = restart_interval,
          .quality = quality};
}

/// Compares the whole picture and `windows` windows of it with libjpeg.
void check(const File& file, std::mt19937& random, int windows, Scratch& scratch,
           Scale scale = Scale::kWhole) {
  const Picture full = decoded_by_libjpeg(file, scale);
  Reason reason = Reason::kNone;
  const std::optional<Picture> ours = decoded(file, whole(full), scratch, &reason, scale);
  CHECK_MESSAGE(ours.has_value(), name_of(reason));
  CHECK((ours == full));
  for (int i = 0; i < windows; ++i) {
    const Window w = draw_window(random, static_cast<std::uint32_t>(full.width),
                                 static_cast<std::uint32_t>(full.height));
    CAPTURE(w.x);
    CAPTURE(w.y);
    CAPTURE(w.width);
    CAPTURE(w.height);
    CHECK((decoded(file, w, scratch, nullptr, scale) == window_of(full, w)));
  }
}

}  // namespace

TEST_CASE("jpeg decoder: every size from 1 x 1 on and every sampling has libjpeg's pixels") {
  std::mt19937 random(1);
  Scratch scratch;
  for (const Sampling& sampling : kSamplings) {
    CAPTURE(sampling.h);
    CAPTURE(sampling.v);
    CAPTURE(sampling.components);
    for (int width = 1; width <= 40; ++width) {
      for (int height = 1; height <= 40; ++height) {
        CAPTURE(width);
        CAPTURE(height);
        const unsigned variant = static_cast<unsigned>(width * 41 + height);
        const JpegSpec spec =
            spec_of(sampling, (width + height) % 4, 30 + 7 * ((width ^ height) % 10));
        check(make_jpeg(make_picture(width, height, 3, variant), spec), random, 2, scratch);
      }
    }
  }
}

TEST_CASE("jpeg decoder: any restart interval and quality has libjpeg's pixels") {
  std::mt19937 random(2);
  Scratch scratch;
  const Picture picture = make_picture(203, 151);
  for (const Sampling& sampling : kSamplings) {
    for (int interval : {0, 1, 2, 3, 4, 5, 7, 13, 26, 40, 1000}) {
      for (int quality : {1, 20, 60, 90, 97, 100}) {
        CAPTURE(sampling.h);
        CAPTURE(sampling.v);
        CAPTURE(interval);
        CAPTURE(quality);
        check(make_jpeg(picture, spec_of(sampling, interval, quality)), random, 4, scratch);
      }
    }
  }
}

TEST_CASE("jpeg decoder: progressive pictures have libjpeg's pixels, whole and in windows") {
  std::mt19937 random(4);
  Scratch scratch;
  const auto progressive = [](const Sampling& sampling, int interval, int quality) {
    JpegSpec spec = spec_of(sampling, interval, quality);
    spec.progressive = true;
    return spec;
  };
  for (const Sampling& sampling : kSamplings) {
    CAPTURE(sampling.h);
    CAPTURE(sampling.v);
    CAPTURE(sampling.components);
    for (int width = 1; width <= 40; width += 3) {
      for (int height = 1 + width % kEvery; height <= 40; height += kEvery) {
        CAPTURE(width);
        CAPTURE(height);
        const auto variant = static_cast<unsigned>(width * 41 + height);
        const int quality = 30 + 7 * ((width ^ height) % 10);
        check(make_jpeg(make_picture(width, height, 3, variant),
                        progressive(sampling, (width + height) % 4, quality)),
              random, 2, scratch);
      }
    }
    for (int interval : {0, 1, 3, 7, 26, 1000}) {
      for (int quality : {1, 20, 60, 90, 97, 100}) {
        CAPTURE(interval);
        CAPTURE(quality);
        const File file =
            make_jpeg(make_picture(203, 151), progressive(sampling, interval, quality));
        for (const Scale scale : {Scale::kWhole, Scale::kHalf, Scale::kQuarter, Scale::kEighth})
          check(file, random, 4, scratch, scale);
      }
    }
  }
}

TEST_CASE("jpeg decoder: a progressive picture has the same pixels with every instruction set") {
  std::vector<File> files;
  for (const Sampling& sampling : kSamplings) {
    for (int quality : {40, 95, 100}) {
      JpegSpec spec = spec_of(sampling, 0, quality);
      spec.progressive = true;
      files.push_back(make_jpeg(make_picture(203, 151), spec));
    }
  }
  packhorse::test::for_each_instruction_set([&] {
    std::mt19937 random(6);
    Scratch scratch;
    for (const File& file : files) check(file, random, 4, scratch);
  });
}

TEST_CASE("jpeg decoder: a window of a progressive picture needs nothing of what lies below it") {
  Scratch scratch;
  for (const int interval : {0, 3}) {
    const File file =
        make_jpeg(make_picture(83, 71), {.progressive = true, .restart_interval = interval});
    const Picture full = decoded_by_libjpeg(file);
    const Window above{10, 0, 50, 15};
    File damaged = file;  // whose last scan lacks some bytes before EOI
    damaged.erase(damaged.end() - 12, damaged.end() - 2);
    Reason reason = Reason::kNone;
    CHECK((decoded(damaged, above, scratch, &reason) == window_of(full, above)));
    CHECK(reason == Reason::kNone);
    (void)decoded(damaged, {0, 0, 83, 71}, scratch, &reason);
    CHECK(reason == Reason::kProgressive);
  }
}

TEST_CASE("jpeg decoder: a progressive picture that is damaged or lacks scans is left to libjpeg") {
  Scratch scratch;
  const File file = make_jpeg(make_picture(83, 71), {.progressive = true});
  const auto reason_of = [&](const File& damaged) {
    Reason reason = Reason::kNone;
    (void)decoded(damaged, {0, 0, 83, 71}, scratch, &reason);
    return reason;
  };
  REQUIRE(reason_of(file) == Reason::kNone);
  const std::string_view text = as_text(file);
  std::vector<std::size_t> scans;
  for (std::size_t at = text.find("\xff\xda"); at != std::string_view::npos;
       at = text.find("\xff\xda", at + 1))
    scans.push_back(at);
  REQUIRE(scans.size() == 10);
  for (std::size_t i = 1; i < scans.size(); ++i) {
    File fewer(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(scans[i]));
    fewer.insert(fewer.end(), {std::byte{0xff}, std::byte{0xd9}});
    CHECK(reason_of(fewer) == Reason::kProgressive);
    File shifted = file;  // other bits than those that come next
    shifted[scans[i] + 2 + std::to_integer<std::size_t>(file[scans[i] + 3]) - 1] ^= std::byte{0x11};
    CHECK(reason_of(shifted) != Reason::kNone);
  }
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    File damaged = file;
    damaged[scans[0] + random() % (file.size() - scans[0])] ^=
        static_cast<std::byte>(1 << random() % 8);
    (void)reason_of(damaged);  // whatever it says, it stays inside
  }
}

TEST_CASE("jpeg decoder: roi images of any interval have libjpeg's pixels") {
  std::mt19937 random(3);
  Scratch scratch;
  for (const Sampling& sampling : kSamplings) {
    const File original = make_jpeg(make_picture(203, 151), spec_of(sampling));
    for (int interval : {1, 2, 4, 8, 100}) {
      CAPTURE(sampling.h);
      CAPTURE(sampling.v);
      CAPTURE(interval);
      const File file = made_roi(original, interval);
      REQUIRE(find_roi_table(file).has_value());
      check(file, random, 12, scratch);
    }
  }
}

TEST_CASE("jpeg decoder: tables fit each picture, whatever was decoded before") {
  // Short scans get smaller tables until several scans had the same tables. The files alternate
  // between all kinds.
  const File standard = make_jpeg(make_picture(48, 40), spec_of(kSamplings[3]));
  const File other = make_jpeg(make_picture(33, 47, 3, 2), spec_of(kSamplings[0], 3, 70));
  const File large = make_jpeg(make_picture(300, 200), spec_of(kSamplings[3]));
  const File files[] = {
      standard, made_roi(standard, 1), made_roi(standard, 100), other, made_roi(other, 2),
      large,    made_roi(large, 4)};
  std::mt19937 random(8);
  Scratch scratch;
  for (int i = 0; i < 150; ++i) {
    const File& file = files[random() % std::size(files)];
    for (auto times = 1 + random() % 24; times > 0; --times) check(file, random, 1, scratch);
  }
}

TEST_CASE("jpeg decoder: a scan that is taken in parts may be cut anywhere") {
  std::mt19937 random(6);
  Scratch scratch;
  for (int i = 0; i < 30; ++i) {  // 200 KB each, with a byte ff in 256
    const Picture picture = make_picture(400, 300 + i, 3, static_cast<unsigned>(i));
    check(make_jpeg(picture, spec_of(kSamplings[i % 2], 0, 100)), random, 4, scratch);
    check(make_jpeg(picture, spec_of(kSamplings[i % 2], 37 + 500 * i, 100)), random, 4, scratch);
  }
}

TEST_CASE(
    "jpeg decoder: the largest coefficients have libjpeg's pixels for x86, on any processor") {
  const std::pair<Scale, std::string_view> kHashes[] = {
      {Scale::kWhole, "7b046195758734cc4d59a5e90afd9fb76d36c5cb686d4aa52174f88bec936b6a"},
      {Scale::kHalf, "a31300ca14b0868542530dbd3514b9a91fb5027df252ad1a6263200ec64dd266"},
      {Scale::kQuarter, "02afbc7bbd27f8022a47ce9cfd1977b3ba0a536fe43069fafeb27e6438614560"},
      {Scale::kEighth, "e0bb260c2fa822cdd42fc64acc41a22de4268ba34a8d03ff04447baec4f614bc"}};
  Scratch scratch;
  for (const auto& [scale, expected] : kHashes) {
    CAPTURE(static_cast<int>(scale));
    std::mt19937 random(5);
    Sha256 hash;
    for (unsigned step : {1u, 2u, 5u, 8u, 9u, 16u, 31u, 64u, 127u, 128u, 200u, 255u}) {
      CAPTURE(step);
      for (int i = 0; i < 20; ++i) {
        const File file = made_of_extremes(random, step);
        const std::uint32_t side = kSideOfExtremes / static_cast<std::uint32_t>(scale);
        const std::optional<Picture> ours =
            decoded(file, {0, 0, side, side}, scratch, nullptr, scale);
        REQUIRE(ours.has_value());
        hash.update(std::as_bytes(std::span(ours->pixels)));
        // libjpeg's vector code for other processors overflows otherwise.
        if constexpr (HWY_ARCH_X86) CHECK((ours == decoded_by_libjpeg(file, scale)));
      }
    }
    CHECK(hash.finish() == expected);
  }
}

TEST_CASE("jpeg decoder: scaled pictures and windows of them have libjpeg's pixels") {
  std::mt19937 random(7);
  Scratch scratch;
  for (const Scale scale : {Scale::kHalf, Scale::kQuarter, Scale::kEighth}) {
    CAPTURE(static_cast<int>(scale));
    for (const Sampling& sampling : kSamplings) {
      CAPTURE(sampling.h);
      CAPTURE(sampling.v);
      for (int size = 1; size <= 70; ++size) {
        CAPTURE(size);
        const Picture picture =
            make_picture(size, 1 + size * 31 % 67, 3, static_cast<unsigned>(size));
        check(make_jpeg(picture, spec_of(sampling, size % 5)), random, 4, scratch, scale);
      }
      check(made_roi(make_jpeg(make_picture(303, 251), spec_of(sampling)), 4), random, 40, scratch,
            scale);
    }
    for (const auto& path : photos()) {
      const File file = read_file(path);
      if (decode(file, {0, 0, 1, 1}, {}, scratch).reason == Reason::kWindow) {
        check(file, random, 1, scratch, scale);
      }
    }
  }
}

TEST_CASE("jpeg decoder: real photos and windows of them have libjpeg's pixels") {
  std::mt19937 random(4);
  Scratch scratch;
  int decoded_ones = 0, refused = 0;
  for (const auto& path : photos()) {
    CAPTURE(path.string());
    const File file = read_file(path);
    if (probe_image(file).info.value().components == 4) continue;
    const Picture full = decoded_by_libjpeg(file);
    Reason reason = Reason::kNone;
    (void)decoded(file, whole(full), scratch, &reason);
    if (reason != Reason::kNone) {
      CHECK(reason != Reason::kDamaged);
      ++refused;
    } else {
      check(file, random, 3, scratch);
      ++decoded_ones;
    }
    const File roi = made_roi(file, 4);
    check(roi, random, 3, scratch);
  }
  CHECK(refused * 10 <= decoded_ones);
}

TEST_CASE("jpeg decoder: a window of a roi image is read from its own rows only") {
  Scratch scratch;
  const File file = made_roi(make_jpeg(make_picture(320, 240), {.h = 2, .v = 2}), 4);
  const Picture full = decoded_by_libjpeg(file);
  const RoiTable table = find_roi_table(file).value();
  const Window window{100, 100, 60, 40};
  // Only rows 6 to 8 and the chroma below them count; everything else may be anything.
  File damaged = file;
  const auto scribble = [&](std::uint64_t from, std::uint64_t to) {
    std::fill(damaged.begin() + static_cast<std::ptrdiff_t>(from),
              damaged.begin() + static_cast<std::ptrdiff_t>(to), std::byte{0xff});
  };
  scribble(table.scan, table.row_begin(6) - 2);
  scribble(table.row_begin(9), damaged.size());
  CHECK((decoded(damaged, window, scratch) == window_of(full, window)));
  CHECK_FALSE(decoded(damaged, {100, 80, 60, 40}, scratch).has_value());
  CHECK_FALSE(decoded(damaged, {100, 100, 60, 45}, scratch).has_value());
}

TEST_CASE("jpeg decoder: a scan with anything missing, left over or out of order is refused") {
  Scratch scratch;
  const File file = make_jpeg(make_picture(64, 48), {.h = 1, .v = 1, .restart_interval = 4});
  REQUIRE(decoded(file, {0, 0, 64, 48}, scratch).has_value());
  const auto refused = [&](const File& damaged) {
    Reason reason = Reason::kNone;
    (void)decoded(damaged, {0, 0, 64, 48}, scratch, &reason);
    return reason == Reason::kDamaged;
  };
  const auto place_of = [&](std::uint8_t marker) {
    const std::byte both[] = {std::byte{0xff}, std::byte{marker}};
    return std::search(file.begin(), file.end(), std::begin(both), std::end(both)) - file.begin();
  };
  const std::ptrdiff_t rst1 = place_of(0xd1), eoi = place_of(0xd9);
  File changed = file;
  SUBCASE("a byte too many in front of a marker") {
    changed.insert(changed.begin() + rst1, std::byte{0});
    CHECK(refused(changed));
  }
  SUBCASE("a byte missing in front of a marker") {
    changed.erase(changed.begin() + rst1 - 1);
    CHECK(refused(changed));
  }
  SUBCASE("a marker of another number") {
    changed[static_cast<std::size_t>(rst1) + 1] = std::byte{0xd2};
    CHECK(refused(changed));
  }
  SUBCASE("a marker left out") {
    changed.erase(changed.begin() + rst1, changed.begin() + rst1 + 2);
    CHECK(refused(changed));
  }
  SUBCASE("a segment doubled") {
    const std::ptrdiff_t rst2 = place_of(0xd2);
    changed.insert(changed.begin() + rst2, file.begin() + rst1, file.begin() + rst2);
    CHECK(refused(changed));
  }
  SUBCASE("another marker at the end") {
    changed[static_cast<std::size_t>(eoi) + 1] = std::byte{0xd0};
    CHECK(refused(changed));
  }
  SUBCASE("every shorter file") {
    while (changed.size() > 2) {
      changed.pop_back();
      CHECK(refused(changed));
    }
  }
  SUBCASE("what follows the end is nobody's business") {
    changed.insert(changed.end(), 100, std::byte{0xff});
    CHECK(decoded(changed, {0, 0, 64, 48}, scratch).has_value());
  }
}

/// Counts the rows of MCUs or pixels that a decoder delivers.
struct RowCount final : CoefficientSink, RowSink {
  std::uint32_t count = 0;
  void take_mcu_row(const std::int16_t*) override { ++count; }
  void take(const std::uint8_t*, std::size_t, std::uint32_t rows) override { count += rows / 8; }
};

TEST_CASE("jpeg decoder: no block is made of what lies behind a scan, however many are missing") {
  constexpr std::uint32_t kRows = 8187;
  for (const std::size_t bytes : {38u, 900u, 40000u}) {
    CAPTURE(bytes);
    const File file = made_of_starved_blocks(kRows, bytes);
    const auto whole_blocks = static_cast<std::uint32_t>(bytes * 8 / (1 + 63 * 11));
    Scratch scratch;  // new, so that zeros follow the scan
    RowCount coefficients, pixels;
    CHECK(decode_coefficients(file, coefficients, scratch).reason == Reason::kDamaged);
    CHECK(coefficients.count <= whole_blocks + 1);
    CHECK(decode(file, {0, 0, 8, 8 * kRows}, pixels, scratch).reason == Reason::kDamaged);
    CHECK(pixels.count <= whole_blocks + 1);
  }
}

TEST_CASE("jpeg decoder: what it does not take is refused by reason") {
  Scratch scratch;
  const Picture picture = make_picture(40, 30);
  const auto reason_of = [&](const JpegSpec& spec) {
    Reason reason = Reason::kNone;
    (void)decoded(make_jpeg(picture, spec), {0, 0, 40, 30}, scratch, &reason);
    return reason;
  };
  CHECK(reason_of({}) == Reason::kNone);
  CHECK(reason_of({.progressive = true}) == Reason::kNone);
  CHECK(reason_of({.progressive = true, .arithmetic = true}) == Reason::kArithmetic);
  CHECK(reason_of({.arithmetic = true}) == Reason::kArithmetic);
  CHECK(reason_of({.h = 1, .v = 1, .components = 4}) == Reason::kComponents);
  CHECK(reason_of({.h = 1, .v = 1, .rgb = true}) == Reason::kRgb);
  CHECK(reason_of({.h = 4, .v = 1}) == Reason::kSampling);
  CHECK(reason_of({.h = 1, .v = 4}) == Reason::kSampling);
}

TEST_CASE("jpeg decoder: a window must lie in the picture and its pixels in the output") {
  Scratch scratch;
  const File file = make_jpeg(make_picture(40, 30));
  std::vector<std::uint8_t> memory(40 * 30 * 3);
  const auto reason_of = [&](const Window& window, std::size_t bytes, std::size_t stride) {
    return decode(file, window, {std::span(memory.data(), bytes), stride}, scratch).reason;
  };
  CHECK(reason_of({0, 0, 40, 30}, 3600, 120) == Reason::kNone);
  CHECK(reason_of({0, 0, 40, 30}, 3599, 120) == Reason::kWindow);
  CHECK(reason_of({0, 0, 40, 30}, 3600, 119) == Reason::kWindow);
  CHECK(reason_of({0, 0, 40, 30}, 3600, ~std::size_t{0}) == Reason::kWindow);
  CHECK(reason_of({0, 0, 0, 30}, 3600, 120) == Reason::kWindow);
  CHECK(reason_of({1, 0, 40, 30}, 3600, 120) == Reason::kWindow);
  CHECK(reason_of({0, 30, 40, 1}, 3600, 120) == Reason::kWindow);
  CHECK(reason_of({0, 1, ~0u, 1}, 3600, 120) == Reason::kWindow);
  CHECK(reason_of({39, 29, 1, 1}, 3, 0xffff) == Reason::kNone);
}

}  // namespace packhorse::jpeg::test
