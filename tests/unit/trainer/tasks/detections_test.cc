#include "tasks/detect/detections.h"

#include <ATen/ops/full.h>

#include <limits>

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

}  // namespace packhorse::trainer
