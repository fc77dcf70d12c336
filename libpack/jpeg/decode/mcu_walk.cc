#include "jpeg/decode/mcu_walk.h"

#include <algorithm>

namespace packhorse::jpeg {

BlockPlan plan_of(const Frame& frame, const Tables& tables) {
  BlockPlan plan;
  for (std::uint32_t i = 0; i < frame.components; ++i) {
    const Component& c = frame.component[i];
    for (std::uint32_t block = 0; block < c.h * c.v; ++block) {
      plan.blocks[plan.count++] = {&tables.dc(c.dc), &tables.ac(c.ac), i};
    }
  }
  plan.ac_bits = tables.ac_bits();
  return plan;
}

bool McuWalk::next(std::uint32_t mcus, std::int16_t* blocks, std::uint8_t* last) {
  while (mcus > 0) {
    if (left_ == 0) {
      left_ =
          std::min(segments_.interval(), frame_.mcus() - segments_.next() * segments_.interval());
      if (!segments_.open(open_)) return false;
    }
    const std::uint32_t count = std::min({mcus, left_, open_.mcus()});
    const SegmentTask task{{}, blocks, last, count};
    if (!entropy_.decode_next(open_, task, plan_) || !segments_.feed(open_)) return false;
    if (blocks != nullptr) {
      const std::size_t done = std::size_t{count} * frame_.blocks_per_mcu;
      blocks += done * kBlock;
      last += done;
    }
    mcus -= count;
    left_ -= count;
    if (left_ == 0 && !open_.ends_well()) return false;
  }
  return true;
}

}  // namespace packhorse::jpeg
