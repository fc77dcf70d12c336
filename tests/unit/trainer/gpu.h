#pragma once

#include <doctest/doctest.h>

#include "packhorse/trainer/device/device.h"
#include "support/support.h"

namespace packhorse::test {

/// Whether a test that needs a GPU cannot run here; if so, says it. Such tests are in the suite
/// "gpu".
inline bool no_gpu() {
  if (trainer::cuda_available()) return false;
  skipped("no GPU");
  return true;
}

}  // namespace packhorse::test
