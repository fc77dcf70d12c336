#include "packhorse/trainer/normalize.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max.h>

#include "packhorse/trainer/device.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

constexpr Normalization kImageNet;

/// Every byte value in every channel: 3 pictures of 16 x 16.
at::Tensor all_bytes() {
  return at::arange(3 * 256 * 3, at::kLong)
      .mul(7)
      .remainder(256)
      .to(at::kByte)
      .reshape({3, 16, 16, 3});
}

/// How far `out` is from the definition at most.
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
          normalize(at::empty({1, 4, 4, 3}), kImageNet);
        }) == ErrorKind::kUsage);
}

TEST_CASE("normalize: the GPU's kernel agrees with the definition") {
  if (!cuda_available()) {
    test::skipped("no GPU");
    return;
  }
  const auto images = all_bytes().to(at::kCUDA);
  const auto out = normalize(images, kImageNet);
  CHECK(out.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(error_of(out, images) < 1e-5);
  CHECK(error_of(normalize(images, kImageNet, at::kHalf), images) < 2e-3);
  CHECK(error_of(normalize(images, kImageNet, at::kBFloat16), images) < 2e-2);
}
