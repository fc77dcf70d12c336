#include "tasks/detect/detections.h"

#include <ATen/ops/full.h>

#include <limits>
#include <vector>

#include "support/support.h"

namespace packhorse::trainer {

TEST_CASE("detections: what is no finite number is none, however low the least score") {
  // Two places of one class: the first has a box without a number, the second a sure one.
  at::Tensor outputs = at::full({1, 2, 6}, 10.0);
  outputs[0][0][0] = std::numeric_limits<float>::quiet_NaN();
  for (const double least : {0.0, 0.001}) {
    CAPTURE(least);
    const auto found = find_objects(outputs, {.min_score = least});
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].size() == 1);
    CHECK(found[0][0].box.x == 5);
    CHECK(found[0][0].box.width == 10);
  }
  outputs[0][1][5] = std::numeric_limits<float>::quiet_NaN();
  CHECK(find_objects(outputs, {.min_score = 0})[0].empty());
}

TEST_CASE("detections: what does not reach into the picture takes nobody's place") {
  // Boxes of 10 x 10 around 5, 5 and 35, 5; the second is surer.
  at::Tensor outputs = at::full({1, 2, 6}, 10.0);
  outputs[0][0][0] = outputs[0][0][1] = outputs[0][1][1] = 5;
  outputs[0][1][0] = 35;
  outputs[0][0][5] = 1;
  const auto left_of_most_sure = [&](const reader::Rect& place) {
    const auto found = find_objects(outputs, {.most = 1}, std::vector{place});
    return found[0].empty() ? -1 : found[0][0].box.x;
  };
  CHECK(left_of_most_sure({0, 0, 64, 64}) == 30);
  CHECK(left_of_most_sure({0, 0, 30.5, 64}) == 30);
  CHECK(left_of_most_sure({0, 0, 30, 64}) == 0);
  CHECK(left_of_most_sure({0, 10, 64, 64}) == -1);
  CHECK(left_of_most_sure({}) == -1);
}

}  // namespace packhorse::trainer
