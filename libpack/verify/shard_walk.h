#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>

#include "walkers/walk_task.h"

namespace packhorse {

/// Calls `report` for every defect; with kDecode, once for each image that was not decoded to its
/// end. `row` always holds the row being looked at, -1 before the first, so an observer outside
/// knows where a walk ended. Runs other people's libraries on bytes that may be damaged, so it may
/// crash or never return: walkers (walkers/walker.h) run it in a process of its own. Not for
/// kDescribe, which has more to say. Throws Error(kInterrupted), and Error(kIo) as files do.
void walk(const WalkTask& task, std::atomic<std::int64_t>& row,
          const std::function<void(const WalkFinding&)>& report, const std::stop_token& stop = {});

}  // namespace packhorse
