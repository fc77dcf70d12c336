#pragma once

#include <memory>

#include "storage/cache/run_cache.h"
#include "storage/dataset/shard_object.h"

namespace packhorse {

/// A shard whose runs are kept in the cache. Thread-safe.
class CachedRuns {
 public:
  CachedRuns(std::shared_ptr<ShardObject> object, std::shared_ptr<CachedFile> file)
      : object_(std::move(object)), file_(std::move(file)) {}

  /// Waits until the runs of a range are there. False when the cache has no room for one of them.
  /// Throws what ShardObject::fetch() throws, and Error(kIo) for the cache's disk.
  bool ensure(ByteRange range);
  /// Starts to fetch those that are absent. False when the cache has no room for one of them.
  bool prefetch(ByteRange range);
  void forget(ByteRange range);
  Bytes at(ByteRange range) const {
    return file_->data().bytes().subspan(range.offset, range.length);
  }
  double share() const;

 private:
  bool ensure_run(std::size_t run);
  bool fetch(std::size_t run);
  bool fetch_ahead(std::size_t run);

  const std::shared_ptr<ShardObject> object_;
  const std::shared_ptr<CachedFile> file_;
};

}  // namespace packhorse
