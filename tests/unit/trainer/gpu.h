#pragma once

#include <doctest/doctest.h>

#include "packhorse/trainer/device/device.h"
#include "support/support.h"

namespace packhorse::test {

/// Whether a test of a GPU cannot run here, which it then says. Such tests are in the suite "gpu".
inline bool no_gpu() {
  if (trainer::cuda_available()) return false;
  skipped("no GPU");
  return true;
}

}  // namespace packhorse::test
