#include <algorithm>

#include "measure/measure.h"

namespace packhorse::trainer {

Comparison compare(const std::vector<Pass>& passes, const std::vector<Pass>& base) {
  const reader::Spread speed = images_per_s(passes), against = images_per_s(base);
  Comparison result;
  result.repeats = std::min(passes.size(), base.size());
  if (result.repeats == 0 || against.min <= 0) return result;
  result.ratio = speed.median / against.median;
  result.least = speed.min / against.max;
  result.most = speed.max / against.min;
  if (result.repeats < kEnoughRepeats) return result;
  const bool apart = result.least > 1 || result.most < 1;
  if (apart && result.ratio >= kNoticeable) {
    result.told = Told::kFaster;
  } else if (apart && result.ratio <= 1 / kNoticeable) {
    result.told = Told::kSlower;
  } else if (result.most < kNoticeable && result.least > 1 / kNoticeable) {
    result.told = Told::kAlike;
  }
  return result;
}

}  // namespace packhorse::trainer
