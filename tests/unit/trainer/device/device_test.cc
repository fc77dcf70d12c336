#include "packhorse/trainer/device/device.h"

#include <ATen/ops/empty.h>

#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

TEST_CASE("device: auto is a GPU exactly where there is one") {
  CHECK(pick_device("auto").is_cuda() == cuda_available());
  CHECK(describe(pick_device("cpu")) == "cpu");
  CHECK(test::kind_of_error([] { pick_device("tpu"); }) == ErrorKind::kUsage);
}

TEST_CASE("device: a process takes the GPU of its number, or the only one it sees") {
  CHECK(pick_gpu(0, 4) == 0);
  CHECK(pick_gpu(3, 4) == 3);
  CHECK(pick_gpu(3, 1) == 0);  // srun --gpus-per-task=1
  CHECK(test::kind_of_error([] { pick_gpu(4, 4); }) == ErrorKind::kUnsupported);
}

TEST_CASE("device: memory that is full says what for, and what to do") {
  try {
    try {
      at::empty({std::int64_t{1} << 50});
    } catch (...) {
      rethrow_as_error("32 pictures");
    }
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).starts_with("memory is full, with 32 pictures"));
    CHECK(error.advice().find("`accumulate=`") != std::string::npos);
  }
}

TEST_CASE("device: asking for a GPU that is not there says what to do") {
  if (cuda_available()) {
    test::skipped("there is a GPU");
    return;
  }
  try {
    pick_device("cuda");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnsupported);
    CHECK_FALSE(error.advice().empty());
  }
}
