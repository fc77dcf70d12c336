#include "input/gpu_decode.h"

#include <ATen/ops/zeros.h>

#include <cstdlib>

#include "input/gpu_decode/crop_task.h"
#include "packhorse/reader/decode.h"
#include "support/pictures.h"
#include "support/support.h"
#include "unit/trainer/gpu.h"
#include "unit/trainer/toy_set.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

constexpr int kSize = 64;

/// Runs the kernel's code on the CPU over a whole picture.
std::vector<std::uint8_t> crop(const test::Picture& picture, const reader::CropPlan& plan) {
  std::vector<std::uint8_t> out(std::size_t{kSize} * kSize * 3);
  const CropTask task = crop_task(plan, picture.pixels.data(), 3 * picture.width, out.data());
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) make_pixel(task, kSize, x, y);
  }
  return out;
}

}  // namespace

TEST_CASE("gpu decode: the kernel's crops are within one level of the reader's") {
  const test::Picture stored = test::make_picture(190, 140);
  const test::File jpeg = test::make_jpeg(stored);
  const test::Picture picture = test::decode_plainly(jpeg, test::Colours::kRgb);
  const reader::Augment kinds[] = {reader::RandomResizedCrop{.size = kSize},
                                   reader::ResizeCenterCrop{80, kSize}, reader::Resize{kSize},
                                   reader::PadCrop{.size = kSize, .padding = 9}};
  reader::Decoder decoder;
  std::vector<std::uint8_t> expected(std::size_t{kSize} * kSize * 3);
  for (const reader::Augment& augment : kinds) {
    for (std::uint64_t number = 0; number < 8; ++number) {
      const reader::SampleRandom random(7, 0, number);
      decoder.decode(jpeg, augment, random, expected);
      const auto made = crop(picture, reader::plan_crop(augment, 190, 140, random));
      int worst = 0;
      for (std::size_t i = 0; i < made.size(); ++i)
        worst = std::max(worst, std::abs(made[i] - expected[i]));
      CHECK(worst <= 1);
    }
  }
}

TEST_CASE("gpu decode: without a GPU it says so") {
  CHECK(test::kind_of_error([] { GpuDecoder{Device{}}; }) == ErrorKind::kUnsupported);
}

TEST_CASE("gpu decode: the smallest share counts that is nearly as fast as the fastest") {
  const auto chosen = [](std::vector<ShareRates> tried) { return choose_share(tried).share; };
  CHECK(chosen({{0, {100, 100, 100}}, {0.5, {102, 102, 102}}, {1, {101, 101, 101}}}) == 0);
  CHECK(chosen({{0, {100, 100, 100}}, {0.5, {104, 104, 104}}, {1, {106, 106, 106}}}) == 0.5);
  // Each within 3 % of the one before, but not of the last.
  CHECK(chosen({{0, {100, 100, 100}}, {0.5, {102, 102, 102}}, {1, {105, 105, 105}}}) == 0.5);
  // One slow or fast round changes nothing.
  CHECK(chosen({{0, {100, 1, 100}}, {0.5, {90, 1000, 90}}, {1, {80, 80, 80}}}) == 0);
}

TEST_CASE("gpu decode: tuning tries each share of a dataset, here on the CPU, which leaves all") {
  const test::TemporaryDirectory folder;
  test::make_toy_set(folder / "toys", 2, 8);
  const auto dataset = reader::Dataset::open(folder / "toys");
  const GpuDecodeShare share = tune_gpu_decode(dataset, {.batch_size = 4, .workers = 0}, {}, 0.01);
  for (const char* tried : {" 0 %", " 25 %", " 50 %", " 75 %", " 100 %"})
    CHECK(share.reason.find(tried) != std::string::npos);
}

TEST_CASE("gpu decode: pixels are near the CPU's" * doctest::test_suite("gpu")) {
  if (test::no_gpu()) return;
  const auto photos = test::photos();
  if (photos.empty()) return;
  const auto dataset = reader::Dataset::open(photos.front().parent_path().parent_path());
  reader::LoaderOptions options{.batch_size = 32, .augment = reader::RandomResizedCrop{224}};
  reader::Loader on_cpu(dataset, options);
  options.encoded_share = 1;
  reader::Loader left(dataset, options);
  on_cpu.start_epoch(0);
  left.start_epoch(0);
  GpuDecoder decoder(pick_device("cuda"));
  while (const auto expected = on_cpu.next()) {
    const auto batch = left.next();
    const auto images = at::zeros({32, 224, 224, 3}, at::TensorOptions(at::kCUDA).dtype(at::kByte));
    decoder.upload(*batch, images);
    const auto made = images.cpu();
    const auto* pixels = made.const_data_ptr<std::uint8_t>();
    double difference = 0;
    std::size_t far = 0;
    for (std::size_t i = 0; i < expected->images().size(); ++i) {
      const int d = std::abs(pixels[i] - expected->images()[i]);
      difference += d;
      far += d > 8 ? 1 : 0;
    }
    const auto all = static_cast<double>(expected->images().size());
    CHECK(difference / all <= 1);
    CHECK(static_cast<double>(far) / all <= 0.001);
  }
  CHECK(decoder.counters().by_gpu > 0);
}
