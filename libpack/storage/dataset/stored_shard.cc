#include "storage/dataset/stored_shard.h"

namespace packhorse {

StoredShard::StoredShard(std::shared_ptr<ShardObject> object, std::shared_ptr<CachedFile> cached)
    : object_(std::move(object)),
      runs_(cached ? std::make_unique<CachedRuns>(object_, std::move(cached)) : nullptr),
      pieces_(std::make_shared<MemoryPieces>(object_)) {}

StoredShard::~StoredShard() { object_->close(); }

BytesLease StoredShard::view(ByteRange range) {
  if (range.length == 0) return {};
  if (runs_ && runs_->ensure(range)) return {runs_->at(range)};
  return pieces_->view(range);
}

void StoredShard::prefetch(ByteRange range) {
  if (range.length == 0 || (runs_ && runs_->prefetch(range))) return;
  pieces_->prefetch(range);
}

void StoredShard::discard(ByteRange range) {
  if (range.length == 0) return;
  if (runs_) runs_->forget(range);
  pieces_->forget(range);
}

void StoredShard::release() { pieces_->clear(); }

double StoredShard::resident_share() const { return runs_ ? runs_->share() : 0; }

}  // namespace packhorse
