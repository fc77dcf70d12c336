#pragma once

#include <memory>

#include "dataset/remote_files.h"
#include "storage/dataset/cached_runs.h"
#include "storage/dataset/memory_pieces.h"

namespace packhorse {

/// A shard's data file: in the cache, run by run, as long as that has room, else in memory.
class StoredShard final : public RemoteShard {
 public:
  /// `cached` may be null: then all is kept in memory.
  StoredShard(std::shared_ptr<ShardObject> object, std::shared_ptr<CachedFile> cached);
  ~StoredShard() override;

  BytesLease view(ByteRange range) override;
  void prefetch(ByteRange range) override;
  void discard(ByteRange range) override;
  double resident_share() const override;
  void release() override;

 private:
  const std::shared_ptr<ShardObject> object_;
  const std::unique_ptr<CachedRuns> runs_;  ///< null without a cache
  const std::shared_ptr<MemoryPieces> pieces_;
};

}  // namespace packhorse
