#include "jpeg/encode/frame_header.h"

namespace packhorse::encode {

std::uint32_t restart_interval_from(std::uint32_t target, std::uint32_t mcus_per_row) {
  std::uint32_t divisor = std::min(target, mcus_per_row);
  while (mcus_per_row % divisor != 0) ++divisor;
  return divisor;
}

}  // namespace packhorse::encode
