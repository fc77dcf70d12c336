#pragma once

#include <memory>

#include "packhorse/base/mapped_file.h"
#include "storage/cache/cache_directory.h"
#include "storage/cache/claims.h"
#include "storage/cache/run_cache.h"
#include "storage/cache/shard_files.h"

namespace packhorse {

struct CachedFile::State {
  State(std::shared_ptr<CacheDirectory> in, ShardFiles opened);
  ~State();

  ByteRange range_of(std::size_t run) const;
  /// Stores the byte of a run. False when the disk is full.
  bool mark(std::size_t run, std::byte there);
  /// Gives the disk back what a run takes. False where the file system cannot.
  bool punch(std::size_t run) const;
  /// Ends a claim whose space was reserved, and not used.
  void drop(std::size_t run);
  /// Opens the data, which is not kept open: a dataset may have more shards than a process may have
  /// descriptors. Nothing when it is no longer where it was.
  UniqueFd open_data(int flags) const;

  std::shared_ptr<CacheDirectory> cache;
  struct LeaseEnd {
    CacheDirectory& cache;
    ~LeaseEnd() { cache.lease_ended(); }
  } lease_end;       ///< destroyed when everything below is closed
  ShardFiles files;  ///< only the names: the .runs file is open in the claims
  FileIdentity data_file;
  MappedFile data;
  /// The .runs file. A private mapping that is never written shows what others write to the file,
  /// and MappedFile survives its being cut.
  MappedFile runs;
  Claims claims;
};

}  // namespace packhorse
