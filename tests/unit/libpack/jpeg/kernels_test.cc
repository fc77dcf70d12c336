#include "jpeg/kernels/kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "fixtures.h"
#include "jpeg/decode/buffer.h"
#include "support/instruction_sets.h"

namespace packhorse::jpeg::test {

namespace {

/// Runs `check` with the kernels of each instruction set that this processor has.
template <class Check>
void for_each_target(const Check& check) {
  packhorse::test::for_each_instruction_set([&] { check(fastest_kernels()); });
}

using Samples = std::vector<std::uint8_t>;

Samples noise(std::mt19937& random, std::size_t count) {
  Samples samples(count);
  for (std::uint8_t& s : samples) {
    s = static_cast<std::uint8_t>(random() % 4 == 0 ? 255 * (random() & 1) : random());
  }
  return samples;
}

/// Draws a coefficient: mostly small, sometimes the largest possible.
std::int16_t draw_coefficient(std::mt19937& random, int extreme) {
  const int kind = static_cast<int>(random() % 16);
  if (kind < extreme) return static_cast<std::int16_t>(random());
  if (kind < 8) return 0;
  return static_cast<std::int16_t>(static_cast<int>(random() % 401) - 200);
}

}  // namespace

#if HWY_ARCH_X86_64 || HWY_ARCH_ARM_A64
TEST_CASE("jpeg kernels: those of this processor have vectors") {
  CHECK((fastest_kernels().idct != plain_kernels().idct));
}
#endif

TEST_CASE("jpeg kernels: the inverse DCT is the plain one's for any coefficients") {
  std::mt19937 random(1);
  constexpr std::size_t kBlocks = 7;
  Buffer<std::int16_t> blocks;
  std::int16_t* all = blocks.reserve(kBlocks * kBlock);
  for_each_target([&](const Kernels& kernels) {
    int wrong = 0;
    for (int round = 0; round < 4000; ++round) {
      const int extreme = round % 4, rows = round % 9, steps = round % 3;
      Quantisation quantisation;
      for (std::int16_t& q : quantisation) {
        q = static_cast<std::int16_t>(steps == 0 ? 1 : steps == 1 ? 255 : 1 + random() % 255);
      }
      std::uint8_t last[kBlocks];
      for (std::size_t b = 0; b < kBlocks; ++b) {
        last[b] = random() % 4 == 0 ? 1 : 64;
        for (std::size_t i = 0; i < kBlock; ++i) {
          const bool zero = i > 0 && (last[b] == 1 || i >= 8 * static_cast<std::size_t>(rows));
          all[b * kBlock + i] = zero ? std::int16_t{0} : draw_coefficient(random, extreme);
        }
      }
      const bool luma = round % 2 == 0;  // two blocks side by side, then one of another component
      const BlockRow row{all, last, luma ? 5u : 4u, luma ? 2u : 1u, luma ? 3u : 2u};
      constexpr std::size_t kStride = 64;
      Samples ours(kStride * 8 + kKernelSlack), plain(ours.size());
      kernels.idct(row, quantisation, ours.data(), kStride);
      plain_kernels().idct(row, quantisation, plain.data(), kStride);
      Samples ours4(kStride * 4 + kKernelSlack), plain4(ours4.size());
      kernels.idct_4x4(row, quantisation, ours4.data(), kStride);
      plain_kernels().idct_4x4(row, quantisation, plain4.data(), kStride);
      for (std::size_t y = 0; y < 4; ++y) {
        const auto at = static_cast<std::ptrdiff_t>(y * kStride);
        const auto width = static_cast<std::ptrdiff_t>(4 * row.count);
        wrong += !std::equal(ours4.begin() + at, ours4.begin() + at + width, plain4.begin() + at);
      }
      for (std::size_t y = 0; y < 8; ++y) {
        wrong +=
            !std::equal(ours.begin() + static_cast<std::ptrdiff_t>(y * kStride),
                        ours.begin() + static_cast<std::ptrdiff_t>(y * kStride + 8 * row.count),
                        plain.begin() + static_cast<std::ptrdiff_t>(y * kStride));
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("jpeg kernels: upsampling is the plain one's for any samples and length") {
  std::mt19937 random(2);
  for_each_target([&](const Kernels& kernels) {
    for (std::size_t count = 1; count < 300; ++count) {
      const Samples near = noise(random, count + 2 * kKernelSlack),
                    far = noise(random, count + 2 * kKernelSlack);
      const std::uint8_t *n = near.data() + kKernelSlack, *f = far.data() + kKernelSlack;
      Samples ours(2 * count + kKernelSlack), plain(ours.size());
      const auto same = [&](std::size_t samples) {
        return std::equal(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(samples),
                          plain.begin());
      };
      kernels.upsample_h2v1(n, count, ours.data());
      plain_kernels().upsample_h2v1(n, count, plain.data());
      CHECK(same(2 * count));
      kernels.upsample_h2v2(n, f, count, ours.data());
      plain_kernels().upsample_h2v2(n, f, count, plain.data());
      CHECK(same(2 * count));
      for (int bias : {1, 2}) {
        kernels.upsample_h1v2(n, f, bias, count, ours.data());
        plain_kernels().upsample_h1v2(n, f, bias, count, plain.data());
        CHECK(same(count));
      }
    }
  });
}

TEST_CASE("jpeg kernels: every colour there is becomes the plain one's") {
  constexpr std::size_t kRow = 256;
  Samples y(kRow + kKernelSlack), cb(y.size()), cr(y.size());
  for (std::size_t i = 0; i < kRow; ++i) y[i] = static_cast<std::uint8_t>(i);
  for_each_target([&](const Kernels& kernels) {
    Samples ours(3 * kRow), plain(3 * kRow);
    int wrong = 0;
    for (int b = 0; b < 256; ++b) {
      for (int r = b % kEvery; r < 256; r += kEvery) {
        std::fill(cb.begin(), cb.end(), static_cast<std::uint8_t>(b));
        std::fill(cr.begin(), cr.end(), static_cast<std::uint8_t>(r));
        kernels.ycc_to_rgb(y.data(), cb.data(), cr.data(), kRow, ours.data());
        plain_kernels().ycc_to_rgb(y.data(), cb.data(), cr.data(), kRow, plain.data());
        wrong += ours != plain;
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("jpeg kernels: rows of pixels of any length end where they should") {
  std::mt19937 random(3);
  for_each_target([&](const Kernels& kernels) {
    for (std::size_t count = 1; count < 200; ++count) {
      const std::size_t slack = count + kKernelSlack;
      const Samples y = noise(random, slack), cb = noise(random, slack), cr = noise(random, slack);
      Samples ours(3 * count + 100, 7), plain(ours);
      kernels.ycc_to_rgb(y.data(), cb.data(), cr.data(), count, ours.data());
      plain_kernels().ycc_to_rgb(y.data(), cb.data(), cr.data(), count, plain.data());
      CHECK(ours == plain);
      kernels.grey_to_rgb(y.data(), count, ours.data());
      plain_kernels().grey_to_rgb(y.data(), count, plain.data());
      CHECK(ours == plain);
    }
  });
}

TEST_CASE("jpeg kernels: stuffing goes and markers are found, whatever the bytes") {
  std::mt19937 random(4);
  for_each_target([&](const Kernels& kernels) {
    for (int round = 0; round < 20000; ++round) {
      Samples in(random() % 200);
      const auto rare = 2 + random() % 60;
      for (std::size_t i = 0; i < in.size(); ++i) {
        const bool after = i > 0 && in[i - 1] == 0xff;
        in[i] = static_cast<std::uint8_t>(random() % rare == 0 ? 0xff : random());
        if (after && random() % rare != 0) in[i] = 0;
      }
      in.shrink_to_fit();  // a sanitizer sees where it ends
      Samples ours(in.size() + kKernelSlack), plain(ours.size());
      const std::uint8_t* end = in.data() + in.size();
      const Unstuffed a = kernels.unstuff(in.data(), end, ours.data());
      const Unstuffed b = plain_kernels().unstuff(in.data(), end, plain.data());
      CHECK(a.stop == b.stop);
      REQUIRE(a.out - ours.data() == b.out - plain.data());
      CHECK(std::equal(ours.data(), a.out, plain.data()));
      CHECK(kernels.find_marker(in.data(), end) == b.stop);
    }
  });
}

TEST_CASE("jpeg kernels: whole pictures are the same by each instruction set") {
  const File file = make_jpeg(make_picture(203, 151), {.restart_interval = 13, .quality = 97});
  const packhorse::test::Picture full = decoded_by_libjpeg(file);
  for_each_target([&](const Kernels&) {
    Scratch scratch;
    CHECK((decoded(file, whole(full), scratch) == full));
    CHECK((decoded(file, {51, 49, 100, 70}, scratch) == window_of(full, {51, 49, 100, 70})));
  });
}

}  // namespace packhorse::jpeg::test
