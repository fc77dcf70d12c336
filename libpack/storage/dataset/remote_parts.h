#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "storage/dataset/landing.h"
#include "storage/dataset/memory_budget.h"
#include "storage/object_store.h"

namespace packhorse {

struct RemoteEvents {
  std::atomic<std::uint64_t> runs_fetched{0}, runs_found{0}, damaged{0}, waits{0}, wait_ns{0};
};

/// What the files of a dataset have in common.
struct RemoteParts {
  std::shared_ptr<ObjectStore> store;
  std::shared_ptr<MemoryBudget> memory;
  /// Not held: what lands holds this, and a thread cannot end itself.
  std::weak_ptr<Landing> landing;
  std::shared_ptr<RemoteEvents> events;
};

}  // namespace packhorse
