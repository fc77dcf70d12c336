#include "packhorse/trainer/recipe/schedule.h"

#include <cmath>
#include <numbers>

namespace packhorse::trainer {

double Schedule::at(std::int64_t step) const {
  if (step >= total_steps) return 0;
  if (step < warmup_steps) {
    return lr * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  }
  const double share =
      static_cast<double>(step - warmup_steps) / static_cast<double>(total_steps - warmup_steps);
  return lr * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

}  // namespace packhorse::trainer
