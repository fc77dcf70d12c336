#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "unit/trainer/input/host_kernels.h"

// The grids of the kernels, which go over them on the host: memory is as large as needed and no
// larger, so that AddressSanitizer sees each access beyond it.
using namespace packhorse;
using namespace packhorse::trainer;

namespace {

constexpr PixelScale kScale = {{0.5F, 0.25F, 2}, {-1, 3, 100}};

template <class T>
void check_normalize(PixelType type, std::int64_t pixels, std::size_t off) {
  CAPTURE(pixels);
  CAPTURE(off);
  const auto values = static_cast<std::size_t>(3 * pixels);
  const auto memory = std::make_unique<std::uint8_t[]>(off + values);
  std::uint8_t* const in = memory.get() + off;
  for (std::size_t i = 0; i < values; ++i) in[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  const auto out = std::make_unique<T[]>(values);
  test::host::launch_normalize(in, out.get(), type, pixels, kScale, nullptr);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values; ++i) {
    const auto wanted =
        static_cast<T>(static_cast<float>(in[i]) * kScale.factor[i % 3] + kScale.offset[i % 3]);
    wrong += out[i] == wanted ? 0U : 1U;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("kernels: normalize writes every value of any number, from any place in memory") {
  for (const std::int64_t pixels :
       {0, 1, 5, 16, 17, 85, 16 * 256, 16 * 256 + 5, 224 * 224 * 2 + 1}) {
    for (const std::size_t off : {0U, 1U, 3U, 8U, 15U}) {
      check_normalize<float>(PixelType::kFloat32, pixels, off);
      check_normalize<c10::Half>(PixelType::kFloat16, pixels, off);
      check_normalize<c10::BFloat16>(PixelType::kBFloat16, pixels, off);
    }
  }
  // More than all threads of the grid together take in one go.
  check_normalize<float>(PixelType::kFloat32, 16 * 132 * 256 * 16 / 3 + 1000, 0);
  check_normalize<float>(PixelType::kFloat32, 16 * 132 * 256 / 3 + 1000, 1);
}

TEST_CASE("kernels: crops write every pixel of samples of any size") {
  for (const int size : {1, 7, 8, 9, 31, 32, 33, 224}) {
    CAPTURE(size);
    constexpr int kWidth = 40, kHeight = 30, kCount = 3;
    const auto picture = std::make_unique<std::uint8_t[]>(3 * kWidth * kHeight);
    for (int i = 0; i < 3 * kWidth * kHeight; ++i)
      picture[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i * 31);
    const int bytes = 3 * size * size;
    const auto out = std::make_unique<std::uint8_t[]>(static_cast<std::size_t>(kCount * bytes));
    const auto wanted = std::make_unique<std::uint8_t[]>(static_cast<std::size_t>(bytes));
    std::vector<CropTask> tasks;
    for (int i = 0; i < kCount; ++i) {
      tasks.push_back({.picture = picture.get(),
                       .out = out.get() + i * bytes,
                       .stride = 3 * kWidth,
                       .x = i,
                       .y = 2 * i,
                       .w = kWidth - i,
                       .h = kHeight - 2 * i,
                       .scaled_w = size + i,
                       .scaled_h = size + 3,
                       .left = i,
                       .top = 3 - i,
                       .flip = i % 2});
    }
    test::host::launch_crops(tasks.data(), kCount, size, nullptr);
    for (CropTask task : tasks) {
      const std::uint8_t* const made = task.out;
      task.out = wanted.get();
      for (int y = 0; y < size; ++y) {
        for (int x = 0; x < size; ++x) make_pixel(task, size, x, y);
      }
      CHECK(std::equal(made, made + bytes, wanted.get()));
    }
  }
}

TEST_CASE("kernels: crops of more samples than a grid has blocks") {
  const std::uint8_t pixel[3] = {1, 2, 3};
  for (const int count : {0, 1, 65'535, 65'536, 131'071}) {
    CAPTURE(count);
    std::vector<std::uint8_t> out(static_cast<std::size_t>(3 * count));
    std::vector<CropTask> tasks;
    for (int i = 0; i < count; ++i) {
      tasks.push_back({.picture = pixel,
                       .out = out.data() + 3 * i,
                       .stride = 3,
                       .x = 0,
                       .y = 0,
                       .w = 1,
                       .h = 1,
                       .scaled_w = 1,
                       .scaled_h = 1,
                       .left = 0,
                       .top = 0,
                       .flip = 0});
    }
    test::host::launch_crops(tasks.data(), count, 1, nullptr);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) wrong += out[i] == pixel[i % 3] ? 0U : 1U;
    CHECK(wrong == 0);
  }
}
