#include "codecs/described_image.h"

#include "codecs/image_header.h"
#include "support/pictures.h"
#include "support/support.h"

namespace packhorse {

using test::kind_of_error;
using Verdict = DescribedImage::Verdict;

TEST_CASE("described image: what an index says of an image must be so in every respect") {
  const test::File file = test::make_jpeg(test::make_picture(64, 48));
  const ImageInfo right = probe_image(file).info.value();
  CHECK(probe_described(file, right, {}).info == right);
  CHECK(described_to_decode(file, right, {}) == right);
  ImageInfo wrong[] = {right, right, right, right, right, right};
  wrong[0].kind = ImageKind::kPng;
  wrong[1].components = 1;
  wrong[2].bit_depth = 12;
  wrong[3].orientation = 6;
  wrong[4].width = 65;
  wrong[5].height = 47;
  for (const ImageInfo& one : wrong) {
    const DescribedImage refused = probe_described(file, one, {});
    CHECK(refused.verdict == Verdict::kOther);
    CHECK(refused.reason.find("its index says") != std::string::npos);
    CHECK(kind_of_error([&] { described_to_decode(file, one, {}); }) == ErrorKind::kCorrupt);
  }
  CHECK(probe_described(as_bytes("text"), right, {}).verdict == Verdict::kUnusable);
  CHECK(probe_described(file, wrong[0], ImageLimits::of_pixels(9)).verdict ==
        Verdict::kBeyondLimit);
}

TEST_CASE("described image: raw pixels are as many as their index says, of 8 bits and upright") {
  const std::string pixels(4 * 2 * 3, 'x');
  const ImageInfo right{ImageKind::kRaw, 3, 8, 1, 4, 2};
  CHECK(probe_described(as_bytes(pixels), right, {}).info == right);
  for (const ImageInfo& wrong :
       {ImageInfo{ImageKind::kRaw, 3, 16, 1, 4, 2}, ImageInfo{ImageKind::kRaw, 3, 8, 6, 4, 2},
        ImageInfo{ImageKind::kRaw, 3, 8, 1, 4, 3}}) {
    CHECK(probe_described(as_bytes(pixels), wrong, {}).verdict == Verdict::kOther);
  }
}

}  // namespace packhorse
