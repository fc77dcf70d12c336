#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "dataset/remote_files.h"
#include "dataset/shard_index.h"
#include "packhorse/base/mapped_file.h"

namespace packhorse {

/// A shard that is open.
struct OpenShard {
  explicit OpenShard(ShardIndex index_in) : index(std::move(index_in)) {}

  ShardIndex index;
  MappedFile data = {};                      ///< unless it is remote
  std::unique_ptr<RemoteShard> remote = {};  ///< looks at the index

  /// Without an owner they stay as long as the shard.
  BytesLease stored(ByteRange range) const {
    if (remote) [[unlikely]]
      return remote->view(range);
    return {data.bytes().subspan(range.offset, range.length)};
  }
  /// Bytes that hold sample `row`, as they are stored.
  ByteRange stored_range(std::size_t row) const {
    return index.compressed() ? index.frame(row).stored : index.range(row);
  }
};

/// The open shards of a dataset: as many as the process may keep open (docs/design.md). Where that
/// is all of them, a shard that is open costs one load to find, and none is ever closed. Otherwise
/// those that have not been asked for in a while are closed to make room. Thread-safe; a forked
/// child can go on with it.
class ShardPool {
 public:
  using ShardPtr = std::shared_ptr<const OpenShard>;

  /// `always`: so many may be open whatever others have claimed. `files`: shards keep files open.
  ShardPool(std::size_t shards, std::size_t always, bool files);
  ~ShardPool();
  ShardPool(const ShardPool&) = delete;
  ShardPool& operator=(const ShardPool&) = delete;

  bool keeps_all() const { return most_ >= slots_.size(); }
  /// A shard that is open, or has been closed and is still held by somebody; it stays while it is
  /// held. Else nothing.
  ShardPtr find(std::size_t shard) {
    Slot& slot = slots_[shard];
    if (const OpenShard* stays = slot.stays.load(std::memory_order_acquire)) [[likely]]
      return {ShardPtr(), stays};  // counts nothing
    return find(slot);
  }
  /// Keeps one that was opened, unless another thread has meanwhile; returns the one that is kept.
  ShardPtr keep(std::size_t shard, ShardPtr opened) {
    return keep(slots_[shard], std::move(opened));
  }
  /// Calls `visit(number, shard)` for those that are open.
  void for_each_open(const std::function<void(std::size_t, const OpenShard&)>& visit) const;

 private:
  struct Slot {
    std::atomic<const OpenShard*> stays{nullptr};
    ShardPtr open = {};                        ///< under the slot's mutex
    std::weak_ptr<const OpenShard> last = {};  ///< that was open; under the slot's mutex
    bool asked_for = false;                    ///< since the hand was here; under the slot's mutex
  };

  friend struct Pools;
  std::mutex& mutex_of(const Slot& slot) const;
  ShardPtr find(Slot& slot);
  ShardPtr keep(Slot& slot, ShardPtr opened);
  void make_room();

  std::vector<Slot> slots_;
  std::size_t most_;  ///< that may be open
  const std::size_t claimed_mappings_, claimed_files_;
  mutable std::array<std::mutex, 16> mutexes_;
  std::atomic<std::size_t> open_{0};
  std::mutex closing_;
  std::size_t hand_ = 0;  ///< under closing_
};

}  // namespace packhorse
