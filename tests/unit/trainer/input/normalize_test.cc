#include "input/normalize.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <array>

#include "input/normalize_math.h"
#include "packhorse/trainer/device/device.h"
#include "support/support.h"
#include "unit/trainer/gpu.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

const Normalization kImageNet;

/// Every byte value in every channel: 3 pictures of 16 x 16.
at::Tensor all_bytes() {
  return at::arange(3 * 256 * 3, at::kLong)
      .mul(7)
      .remainder(256)
      .to(at::kByte)
      .reshape({3, 16, 16, 3});
}

/// The largest distance of `out` from the definition.
double error_of(const at::Tensor& out, const at::Tensor& images) {
  const auto pixels = images.cpu();
  const auto values = out.cpu().to(at::kDouble);
  double worst = 0;
  for (std::int64_t b = 0; b < pixels.size(0); ++b) {
    for (std::int64_t c = 0; c < 3; ++c) {
      const auto channel = static_cast<std::size_t>(c);
      const auto wanted = pixels[b]
                              .select(2, c)
                              .to(at::kDouble)
                              .div(255)
                              .sub(kImageNet.mean[channel])
                              .div(kImageNet.stddev[channel]);
      worst = std::max(worst, values[b][c].sub(wanted).abs().max().item<double>());
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("normalize: is (x / 255 - mean) / std, in channels_last") {
  const auto images = all_bytes();
  const auto out = normalize(images, kImageNet);
  CHECK(out.sizes() == at::IntArrayRef{3, 3, 16, 16});
  CHECK(out.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(error_of(out, images) < 1e-6);
}

TEST_CASE("normalize: gives 16-bit floats, rounded once") {
  const auto images = all_bytes();
  CHECK(normalize(images, kImageNet, at::kHalf).equal(normalize(images, kImageNet).to(at::kHalf)));
  CHECK(normalize(images, kImageNet, at::kBFloat16)
            .equal(normalize(images, kImageNet).to(at::kBFloat16)));
}

TEST_CASE("normalize: takes an empty batch and refuses other layouts") {
  CHECK(normalize(at::empty({0, 4, 4, 3}, at::kByte), kImageNet).numel() == 0);
  CHECK(test::kind_of_error([] {
          normalize(at::empty({1, 3, 4, 4}, at::kByte), kImageNet);
        }) == ErrorKind::kUsage);
  CHECK(test::kind_of_error([] {
          normalize(at::empty({1, 4, 4, 3}, at::kInt), kImageNet);
        }) == ErrorKind::kUsage);
  CHECK(test::kind_of_error([] {
          normalize(at::empty({1, 4, 4, 4}), kImageNet);
        }) == ErrorKind::kUsage);
}

TEST_CASE("normalize: floats of any number of channels are taken as they are") {
  const Normalization five{{1, 2, 3, 4, 5}, {2, 2, 2, 4, 0.5}};
  const auto images = at::arange(2 * 3 * 4 * 5, at::kFloat).reshape({2, 3, 4, 5});
  const auto out = normalize(images, five);
  CHECK(out.sizes() == at::IntArrayRef{2, 5, 3, 4});
  CHECK(out.is_contiguous(at::MemoryFormat::ChannelsLast));
  for (std::int64_t c = 0; c < 5; ++c) {
    const auto at = static_cast<std::size_t>(c);
    CHECK(out.select(1, c).equal(images.select(3, c).sub(five.mean[at]).div(five.stddev[at])));
  }
}

TEST_CASE("normalize: the kernel takes every value once, in vectors and one by one") {
  constexpr PixelScale kScale = {{0.5F, 0.25F, 2}, {-1, 3, 100}};
  constexpr std::size_t kMost = 200;
  alignas(16) std::array<std::uint8_t, kMost> in{};
  for (std::size_t i = 0; i < kMost; ++i) in[i] = static_cast<std::uint8_t>(255 - 5 * (i % 50));
  const auto check = [&]<class T>(T unwritten) {
    for (std::int64_t values = 0; values <= std::int64_t{kMost}; ++values) {
      alignas(16) std::array<T, kMost> out;
      out.fill(unwritten);
      const std::int64_t vectors = whole_vectors(in.data(), out.data(), values);
      CHECK(vectors == values / 16);
      for (std::int64_t i = 0; i < vectors; ++i) {
        normalize_vector(in.data(), out.data(), i, kScale);
      }
      for (std::int64_t i = kVector * vectors; i < values; ++i) {
        normalize_value(in.data(), out.data(), i, kScale);
      }
      for (std::size_t i = 0; i < kMost; ++i) {
        const bool written = i < static_cast<std::size_t>(values);
        const T wanted =
            static_cast<T>(static_cast<float>(in[i]) * kScale.factor[i % 3] + kScale.offset[i % 3]);
        REQUIRE(out[i] == (written ? wanted : unwritten));
      }
    }
  };
  check(-7.0F);
  check(at::Half(-7));
  check(at::BFloat16(-7));
  CHECK(whole_vectors(in.data() + 3, in.data(), 160) == 0);
  CHECK(whole_vectors(in.data(), in.data() + 8, 160) == 0);
}

TEST_CASE("normalize: the GPU's kernel takes odd sizes and odd places" *
          doctest::test_suite("gpu")) {
  if (test::no_gpu()) return;
  for (const std::int64_t side : {1, 5, 7, 223}) {
    const auto bytes = at::arange(4 * side * side * 3, at::kLong).remainder(251).to(at::kByte);
    const auto images = bytes.reshape({4, side, side, 3}).to(at::kCUDA);
    CHECK(error_of(normalize(images, kImageNet), images) < 1e-5);
    const auto behind = images.narrow(0, 1, 3);  // does not begin at a multiple of 16
    CHECK(error_of(normalize(behind, kImageNet, at::kHalf), behind) < 2e-3);
  }
}

TEST_CASE("normalize: the GPU's kernel agrees with the definition" * doctest::test_suite("gpu")) {
  if (test::no_gpu()) return;
  const auto images = all_bytes().to(at::kCUDA);
  const auto out = normalize(images, kImageNet);
  CHECK(out.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(error_of(out, images) < 1e-5);
  CHECK(error_of(normalize(images, kImageNet, at::kHalf), images) < 2e-3);
  CHECK(error_of(normalize(images, kImageNet, at::kBFloat16), images) < 2e-2);
}
