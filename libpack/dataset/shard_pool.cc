#include "dataset/shard_pool.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

namespace packhorse {

namespace {

constexpr std::size_t kMappingsOfShard = 2;  // index and data
constexpr std::size_t kFilesOfShard = 2;     // of the cache, for a shard from afar
/// What a dataset may keep open when others have claimed everything.
constexpr std::size_t kFewestOpen = 64;

/// proc_sys_vm(5)
std::size_t mappings_allowed() {
  std::size_t most = 65530;  // the kernel's usual figure
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  return most / 2;
}

std::size_t files_allowed() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 1u << 20;
  return limit.rlim_cur / 2;
}

/// What all datasets of the process share.
class Allowance {
 public:
  explicit Allowance(std::size_t all) : left_(all) {}
  /// All that is wanted, or what is left.
  std::size_t claim(std::size_t wanted) {
    std::size_t left = left_, got = 0;
    do {
      got = std::min(wanted, left);
    } while (!left_.compare_exchange_weak(left, left - got));
    return got;
  }
  void give_back(std::size_t claimed) { left_ += claimed; }

 private:
  std::atomic<std::size_t> left_;
};

Allowance& mappings() {
  static Allowance all(mappings_allowed());
  return all;
}

Allowance& files() {
  static Allowance all(files_allowed());
  return all;
}

}  // namespace

/// All pools, so that fork() finds none of their mutexes locked by a thread that the child lacks.
struct Pools {
  static Pools& all() {
    static Pools pools;
    return pools;
  }

  void add(ShardPool* pool) {
    const std::scoped_lock lock(mutex);
    pools.insert(pool);
  }
  void remove(ShardPool* pool) {
    const std::scoped_lock lock(mutex);
    pools.erase(pool);
  }

 private:
  Pools() {
    // Shards are closed under the mutexes here, and then take that of all mappings: it must be the
    // last before fork(), so the first whose handlers are registered.
    MappedFile::arm();
    ::pthread_atfork([] { all().before_fork(); }, [] { all().after_fork(); },
                     [] { all().after_fork(); });
  }
  void before_fork() {
    mutex.lock();
    for (ShardPool* pool : pools) {
      pool->closing_.lock();
      for (std::mutex& one : pool->mutexes_) one.lock();
    }
  }
  void after_fork() {
    for (ShardPool* pool : pools) {
      for (std::mutex& one : pool->mutexes_) one.unlock();
      pool->closing_.unlock();
    }
    mutex.unlock();
  }

  std::mutex mutex;
  std::set<ShardPool*> pools;  ///< under the mutex
};

ShardPool::ShardPool(std::size_t shards, std::size_t always, bool files_too)
    : slots_(shards),
      claimed_mappings_(mappings().claim(shards * kMappingsOfShard)),
      claimed_files_(files_too ? files().claim(shards * kFilesOfShard) : 0) {
  most_ = claimed_mappings_ / kMappingsOfShard;
  if (files_too) most_ = std::min(most_, claimed_files_ / kFilesOfShard);
  most_ = std::max({most_, kFewestOpen, always});
  Pools::all().add(this);
}

ShardPool::~ShardPool() {
  Pools::all().remove(this);
  mappings().give_back(claimed_mappings_);
  files().give_back(claimed_files_);
}

std::mutex& ShardPool::mutex_of(const Slot& slot) const {
  return mutexes_[static_cast<std::size_t>(&slot - slots_.data()) % mutexes_.size()];
}

ShardPool::ShardPtr ShardPool::find(Slot& slot) {
  const std::scoped_lock lock(mutex_of(slot));
  slot.asked_for = true;
  return slot.open ? slot.open : slot.last.lock();
}

ShardPool::ShardPtr ShardPool::keep(Slot& slot, ShardPtr opened) {
  {
    const std::scoped_lock lock(mutex_of(slot));
    if (slot.open) return slot.open;  // another thread was faster
    slot.open = opened;
    slot.last = opened;
    ++open_;
    if (keeps_all()) slot.stays.store(opened.get(), std::memory_order_release);
  }
  if (open_ > most_) make_room();
  return opened;
}

/// Closes the next shard that nobody has asked for since the hand was last there.
void ShardPool::make_room() {
  const std::scoped_lock closing(closing_);
  while (open_ > most_) {
    Slot& slot = slots_[hand_];
    hand_ = (hand_ + 1) % slots_.size();
    ShardPtr closed;  // goes after the lock
    const std::scoped_lock lock(mutex_of(slot));
    if (!std::exchange(slot.asked_for, false) && slot.open) {
      closed = std::move(slot.open);
      --open_;
    }
  }
}

void ShardPool::for_each_open(
    const std::function<void(std::size_t, const OpenShard&)>& visit) const {
  for (const Slot& slot : slots_) {
    ShardPtr open;
    {
      const std::scoped_lock lock(mutex_of(slot));
      open = slot.open;
    }
    if (open) visit(static_cast<std::size_t>(&slot - slots_.data()), *open);
  }
}

}  // namespace packhorse
