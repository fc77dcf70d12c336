#pragma once

#include <cstdint>

#include "simulation/chance.h"

namespace packhorse::simulation {

/// What may go wrong in a world, and how often. Drawn first of all, so that some seeds have one
/// kind of fault alone, and others all of them. When as many as may be have come, there are no
/// more: what was begun must then come to its end.
struct Faults {
  explicit Faults(Chance& chance);

  /// Whether one of this kind happens now: it is then counted.
  bool happens(bool kind, std::uint64_t once_in);
  bool is_calm() const { return left == 0; }

  Chance& chance;
  std::uint64_t left = 0;
  bool happened = false;     ///< one of any kind
  std::uint64_t spared = 0;  ///< so many chances pass by first, so that faults come late, too
  bool kills = false, disk_errors = false, full_disks = false, clock_jumps = false;
  bool lost_requests = false, lost_answers = false, late_requests = false, repeated = false;
  bool refusals = false, damage = false;
  bool pauses = false;  ///< a thread stands still for a while
  bool rot = false;     ///< files change on a disk while nobody works there
  std::uint64_t once_in_calls = 1, once_in_requests = 1;
};

}  // namespace packhorse::simulation
