#include "decode/resize_kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "pixels/pixels.h"
#include "support/instruction_sets.h"

namespace packhorse::reader::test {

namespace {

using packhorse::test::for_each_instruction_set;
using Samples = std::vector<std::uint8_t>;

constexpr std::uint8_t kUntouched = 77;

/// Black, white and anything between; of a size that a sanitizer sees the end of.
Samples noise(std::mt19937& random, std::size_t count) {
  Samples samples(count);
  for (std::uint8_t& s : samples) {
    s = static_cast<std::uint8_t>(random() % 4 == 0 ? 255 * (random() & 1) : random());
  }
  return samples;
}

/// Adds `count` weights with a sum of 1, and the zero behind them.
void add_weights(std::mt19937& random, int count, std::vector<std::int16_t>& weights) {
  int left = 1 << kWeightBits;
  for (int i = 1; i <= count; ++i) {
    const int weight = i == count ? left : static_cast<int>(random()) & (left / 2);
    weights.push_back(static_cast<std::int16_t>(weight));
    left -= weight;
  }
  weights.push_back(0);
}

/// Makes some weights negative, as those of the bicubic filter are, so that sums leave 0 to 255.
void make_some_negative(std::mt19937& random, std::vector<std::int16_t>& weights) {
  for (std::int16_t& weight : weights)
    if (random() % 3 == 0) weight = static_cast<std::int16_t>(-weight / 4);
}

/// What reaches over the whole row, each of its ends, and parts of it; and a place that is black.
struct Taps {
  std::vector<Tap> taps;
  std::vector<std::int16_t> weights;

  Taps(std::mt19937& random, int width, std::size_t size) {
    while (taps.size() < size) {
      const int count = taps.empty() ? width : static_cast<int>(random() % 9) % (width + 1);
      const int room = width - count, kind = static_cast<int>(random() % 3);
      const int first = kind == 0   ? 0
                        : kind == 1 ? room
                                    : static_cast<int>(random() % 64) % (room + 1);
      taps.push_back({count == 0 ? 0 : first, count, weights.size()});
      add_weights(random, count, weights);
    }
  }
};

}  // namespace

TEST_CASE("resize kernels: rows are the plain ones' for any taps, number and length") {
  for_each_instruction_set([] {
    std::mt19937 random(1);
    for (int width : {1, 2, 3, 4, 5, 7, 8, 13, 31, 64, 101}) {
      for (int count = 1; count <= 18; ++count) {
        for (const std::size_t size : {1u, 2u, 5u, 16u, 33u}) {
          Taps taps(random, width, size);
          const std::size_t in_stride = 3 * static_cast<std::size_t>(width) + random() % 5;
          const std::size_t out_stride = 3 * size + 1 + random() % 5;
          const auto rows = static_cast<std::size_t>(count);
          const Samples in =
              noise(random, in_stride * (rows - 1) + 3 * static_cast<std::size_t>(width) +
                                PixelBuffer::kSlack);
          Samples ours(out_stride * rows, kUntouched), plain(ours);
          fastest_kernels().rows(in.data(), in_stride, count, taps.taps, taps.weights.data(),
                                 ours.data(), out_stride);
          plain_kernels().rows(in.data(), in_stride, count, taps.taps, taps.weights.data(),
                               plain.data(), out_stride);
          // The one byte that may be written behind each row.
          const auto check = [&] {
            for (std::size_t y = 0; y < rows; ++y) ours[y * out_stride + 3 * size] = kUntouched;
            CAPTURE(width);
            CAPTURE(count);
            CAPTURE(size);
            CHECK((ours == plain));
          };
          check();
          make_some_negative(random, taps.weights);
          fastest_kernels().clamped_rows(in.data(), in_stride, count, taps.taps,
                                         taps.weights.data(), ours.data(), out_stride);
          plain_kernels().clamped_rows(in.data(), in_stride, count, taps.taps, taps.weights.data(),
                                       plain.data(), out_stride);
          check();
        }
      }
    }
  });
}

TEST_CASE("resize kernels: columns are the plain ones' for any number and length") {
  for_each_instruction_set([] {
    std::mt19937 random(2);
    for (int count = 0; count <= 11; ++count) {
      for (std::size_t bytes = 3; bytes <= 300; bytes += 3) {
        std::vector<std::int16_t> weights;
        add_weights(random, count, weights);
        const std::size_t stride = bytes + random() % 5;
        const Samples in =
            noise(random, count == 0 ? 0 : stride * static_cast<std::size_t>(count - 1) + bytes);
        Samples ours(bytes + 1, kUntouched), plain(ours);
        fastest_kernels().column(in.data(), stride, weights.data(), count, ours.data(), bytes);
        plain_kernels().column(in.data(), stride, weights.data(), count, plain.data(), bytes);
        CAPTURE(count);
        CAPTURE(bytes);
        CHECK((ours == plain));
        make_some_negative(random, weights);
        fastest_kernels().clamped_column(in.data(), stride, weights.data(), count, ours.data(),
                                         bytes);
        plain_kernels().clamped_column(in.data(), stride, weights.data(), count, plain.data(),
                                       bytes);
        CHECK((ours == plain));
      }
    }
  });
}

}  // namespace packhorse::reader::test
