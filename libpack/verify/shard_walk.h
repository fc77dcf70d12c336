#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>

#include "walkers/walk_task.h"

namespace packhorse {

/// Calls `report` for everything that is wrong; kDecode: for each image that was not decoded to its
/// end, once. `row` says at any time which row is being looked
/// at, -1 before the first: who watches from outside knows then where it ended. Runs other people's
/// libraries on bytes that may be damaged, so that it may crash or never return: walkers (walker.h)
/// run it in a process of its own. Not for kDescribe, which has more to say. Throws
/// Error(kInterrupted), and Error(kIo) as files do.
void walk(const WalkTask& task, std::atomic<std::int64_t>& row,
          const std::function<void(const WalkFinding&)>& report, const std::stop_token& stop = {});

}  // namespace packhorse
