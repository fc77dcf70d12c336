#include "simulation/faults.h"

#include <iterator>

namespace packhorse::simulation {

namespace {

constexpr std::uint64_t kMostSpared = 4000;
constexpr std::uint64_t kCalls[] = {10, 30, 100, 300};
constexpr std::uint64_t kRequests[] = {2, 5, 15};

}  // namespace

Faults::Faults(Chance& given) : chance(given) {
  left = chance.once_in(16) ? 0 : chance.skewed(24);
  spared = chance.once_in(2) ? 0 : chance.below(kMostSpared);
  for (bool* kind : {&kills, &disk_errors, &full_disks, &clock_jumps, &lost_requests, &lost_answers,
                     &late_requests, &repeated, &refusals, &damage, &pauses, &rot})
    *kind = chance.once_in(2);
  once_in_calls = kCalls[chance.below(std::size(kCalls))];
  once_in_requests = kRequests[chance.below(std::size(kRequests))];
}

bool Faults::happens(bool kind, std::uint64_t once_in) {
  if (spared > 0) {
    --spared;
    return false;
  }
  if (!kind || left == 0 || !chance.once_in(once_in)) return false;
  --left;
  happened = true;
  return true;
}

}  // namespace packhorse::simulation
