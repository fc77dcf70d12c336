#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <utility>

#include "base/file.h"
#include "codecs/colour_rows.h"
#include "jpeg/encode/forward_dct.h"
#include "jpeg/encode/frame_header.h"
#include "jpeg/encode/huffman_code.h"
#include "transform_fixtures.h"
#include "transforms/area.h"

namespace packhorse::transforms::test {

using encode::Block;
using encode::ForwardDct;
using encode::HuffmanTable;
using encode::optimal_table;
using encode::QuantTable;
using encode::restart_interval_from;

TEST_CASE("restart interval: the smallest divisor of the row that is not below the target") {
  CHECK(restart_interval_from(4, 63) == 7);
  CHECK(restart_interval_from(4, 12) == 4);
  CHECK(restart_interval_from(4, 47) == 47);  // prime: the whole row
  CHECK(restart_interval_from(1, 47) == 1);
  CHECK(restart_interval_from(16, 5) == 5);
  CHECK(restart_interval_from(4, 1) == 1);
}

namespace {

void check_code(const std::array<std::uint32_t, 256>& counts, std::size_t max_bits) {
  CAPTURE(max_bits);
  const HuffmanTable table = optimal_table(counts, max_bits);
  double share = 0;
  for (std::size_t symbol = 0; symbol < 256; ++symbol) {
    CHECK((table.bits[symbol] > 0) == (counts[symbol] > 0));
    if (counts[symbol] == 0) continue;
    CHECK(table.bits[symbol] <= max_bits);
    CHECK(table.code[symbol] != (1u << table.bits[symbol]) - 1);
    share += std::ldexp(1.0, -table.bits[symbol]);
    for (std::size_t other = 0; other < symbol; ++other) {
      if (counts[other] == 0) continue;
      const int shorter = std::min(table.bits[symbol], table.bits[other]);
      const int prefix = table.code[symbol] >> (table.bits[symbol] - shorter);
      const int other_prefix = table.code[other] >> (table.bits[other] - shorter);
      CHECK(prefix != other_prefix);
    }
  }
  CHECK(share < 1);
  CHECK(table.symbols.size() == 45);
}

}  // namespace

TEST_CASE("huffman: codes are within the limit, prefix-free and leave out the code of ones") {
  std::array<std::uint32_t, 256> counts{};
  std::uint32_t a = 1, b = 1;  // Fibonacci's numbers make the deepest trees
  for (std::size_t symbol = 0; symbol < 45; ++symbol) {
    counts[symbol] = a;
    a = std::exchange(b, a + b);
  }
  for (std::size_t max_bits : {16u, 12u, 7u}) check_code(counts, max_bits);
}

TEST_CASE("huffman: a single symbol takes one bit, all 256 take eight or nine") {
  std::array<std::uint32_t, 256> counts{};
  counts[7] = 1000;
  CHECK(optimal_table(counts).bits[7] == 1);
  counts.fill(5);
  for (std::uint8_t bits : optimal_table(counts).bits) CHECK((bits == 8 || bits == 9));
}

TEST_CASE("area: each sample is the mean of what it covers") {
  std::uint32_t state = 1;
  for (const auto& [in, out] :
       {std::pair{10, 10}, {11, 4}, {100, 7}, {64, 63}, {3, 1}, {5000, 3}}) {
    for (int channels : {1, 3}) {
      CAPTURE(in);
      CAPTURE(out);
      std::vector<std::uint8_t> row(static_cast<std::size_t>(in * channels));
      for (std::uint8_t& sample : row) {
        sample = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
      }
      std::vector<std::uint8_t> made(static_cast<std::size_t>(out * channels));
      const double scale = static_cast<double>(in) / out;
      AreaResampler resampler;
      resampler.start({in, out, 0, scale}, {2, 1, 0, 2}, channels, made.data(), made.size());
      resampler.add_row(row.data());
      CHECK_FALSE(resampler.done());
      resampler.add_row(row.data());
      CHECK(resampler.done());
      resampler.add_row(row.data());  // one too many
      for (std::size_t i = 0; i < made.size(); ++i) {
        const auto j = static_cast<int>(i) / channels, c = static_cast<int>(i) % channels;
        double sum = 0;
        for (int k = 0; k < in; ++k) {
          const double share = std::min(k + 1.0, (j + 1) * scale) - std::max<double>(k, j * scale);
          if (share > 0) sum += share * row[static_cast<std::size_t>(k * channels + c)];
        }
        CHECK(std::abs(made[i] - sum / scale) <= 0.75);
      }
    }
  }
}

TEST_CASE("area: white stays white") {
  const std::vector<std::uint8_t> row(1000, 255);
  for (int out = 1; out <= 1000; out += 37) {
    std::vector<std::uint8_t> made(static_cast<std::size_t>(out));
    AreaResampler resampler;
    resampler.start({1000, out, 0, 1000.0 / out}, {1, 1, 0, 1}, 1, made.data(), made.size());
    resampler.add_row(row.data());
    CHECK(made == std::vector<std::uint8_t>(static_cast<std::size_t>(out), 255));
  }
}

TEST_CASE("forward dct: coefficients are those of the definition") {
  std::array<std::uint8_t, 64> samples;
  std::uint32_t state = 7;
  for (std::uint8_t& sample : samples) {
    sample = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  }
  QuantTable ones;
  ones.fill(1);
  Block block;
  ForwardDct(ones).transform(samples.data(), 8, block);
  for (int v = 0; v < 8; ++v) {
    for (int u = 0; u < 8; ++u) {
      double sum = 0;
      for (int y = 0; y < 8; ++y) {
        for (int x = 0; x < 8; ++x) {
          sum += (samples[static_cast<std::size_t>(8 * y + x)] - 128.0) *
                 std::cos((2 * x + 1) * u * M_PI / 16) * std::cos((2 * y + 1) * v * M_PI / 16);
        }
      }
      sum *= (u == 0 ? M_SQRT1_2 : 1) * (v == 0 ? M_SQRT1_2 : 1) / 4;
      CHECK(std::abs(block[8 * v + u] - sum) < 0.51);
    }
  }
}

TEST_CASE("decode eighths: the least quick size that covers") {
  const ImageInfo info{.kind = ImageKind::kJpeg, .components = 3, .width = 1024, .height = 768};
  CHECK(decode_eighths(info, 1024, 768) == 8);
  CHECK(decode_eighths(info, 513, 384) == 8);
  CHECK(decode_eighths(info, 512, 384) == 4);
  CHECK(decode_eighths(info, 256, 192) == 2);
  CHECK(decode_eighths(info, 1, 1) == 1);
}

TEST_CASE("image modes: settings that make no sense are named") {
  const auto message = [](const TransformOptions& options) {
    try {
      options.validate();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kUsage);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message({}) == "");
  CHECK(message({.restart_mcus = 0}) == "restart_mcus cannot be 0");
  CHECK(message({.short_side = -1}) == "short_side cannot be -1");
  CHECK(message({.quality = 101}) == "quality cannot be 101");
  CHECK(message({.size = 0}) == "size cannot be 0");
}

TEST_CASE("image modes: settings have one spelling") {
  const auto settings = [](std::string_view mode, const TransformOptions& options) {
    return find_transform(mode).settings(options);
  };
  CHECK(settings("original", {}) == "");
  CHECK(settings("roi", {}) == "restart_mcus=4");
  CHECK(settings("resize", {}) == "short_side=256 quality=90 chroma=source restart_mcus=4");
  CHECK(settings("resize", {.chroma = TransformOptions::Chroma::k420}) ==
        "short_side=256 quality=90 chroma=420 restart_mcus=4");
  CHECK(settings("raw", {}) == "size=256 fit=crop");
  CHECK(settings("raw", {.size = 32, .fit = TransformOptions::Fit::kLetterbox}) ==
        "size=32 fit=letterbox");
}

TEST_CASE("image modes: the estimate holds for real photos, all together") {
  const TransformOptions options;
  for (const TransformKind& kind : all_transforms()) {
    std::uint64_t estimated = 0, made = 0;
    for (const auto& path : packhorse::test::photos()) {
      const auto file = packhorse::test::File(read_file(path));
      estimated += kind.estimate(options, file.size());
      made += packhorse::test::transform(kind.name, file, options).bytes.size();
    }
    CHECK(estimated >= made);
  }
}

TEST_CASE("transform options: the settings in a manifest give the options back") {
  TransformOptions options;
  options.restart_mcus = 7;
  options.short_side = 99;
  options.quality = 80;
  options.chroma = TransformOptions::Chroma::k420;
  options.size = 32;
  options.fit = TransformOptions::Fit::kLetterbox;
  for (const TransformKind& kind : all_transforms()) {
    const std::string settings = kind.settings(options);
    CHECK(kind.settings(TransformOptions::parse(settings)) == settings);
  }
  for (const char* text : {"colour=1", "size", "size=", "size=1x", "fit=other"}) {
    CAPTURE(text);
    CHECK(packhorse::test::kind_of_error([&] { TransformOptions::parse(text); }) ==
          ErrorKind::kUnsupported);
  }
}

}  // namespace packhorse::transforms::test
