#pragma once

#include <doctest/doctest.h>
#include <hwy/targets.h>

namespace packhorse::test {

/// Runs `check` with each of the instruction sets that this processor has and vector code is made
/// for.
template <class Check>
void for_each_instruction_set(const Check& check) {
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    CAPTURE(hwy::TargetName(target));
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace packhorse::test
