#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "packhorse/base/progress.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/packing/pack.h"
#include "packing/plan.h"
#include "packing/read_ahead.h"
#include "sources/source.h"

namespace packhorse {

/// Everything that shapes the shards of one split. The objects it refers to must outlive it.
struct ShardJob {
  const Source& source;
  const Listing& listing;     ///< classes and fields
  const SplitListing& split;  ///< one of its splits
  const Plan& plan;
  const PackOptions& options;
  bool keep_keys;  ///< keep the keys of an ordered source, instead of numbering positions
  std::filesystem::path data;      ///< directory where the shards go
  std::filesystem::path receipts;  ///< directory for notes about finished shards
  std::size_t tokens;              ///< batches in memory at a time
  ReadAhead* read_ahead;           ///< may be null
  /// Whether the data file of a finished shard that is not here is where it will stay. Empty: none
  /// is.
  std::function<bool(const ShardRecord&)> is_stored = {};
};

/// The plan of a split. Brings entries that lie in a file into its order, in which they are then
/// read; the plan is then one that leaves them so.
Plan plan_for(SplitListing& split, PlanOptions options);

/// The names of the files about shard number `shard`, beside its data file.
std::string index_name_of(std::size_t shard);
std::string receipt_name_of(std::size_t shard);
/// Where the data file of shard number `shard` is made.
std::filesystem::path data_path_of(const ShardJob& job, std::size_t shard);

/// What the manifest says of the samples in a shard, counted as they are written.
struct ShardCounts {
  std::uint64_t payload_bytes = 0;               ///< of the images as they are stored
  std::map<std::int64_t, std::uint64_t> labels;  ///< label -> samples
  std::set<ImageKind> kinds;
};

/// A finished shard. `record.samples == 0`: all its inputs were rejected, and no file was written.
struct ShardOutcome {
  ShardRecord record;
  ShardCounts counts;
  std::uint64_t bytes_in = 0;
  std::vector<Reject> rejects;
  std::map<std::string, std::uint64_t> notes;  ///< counts of the transform's notes
  ObjectCounts objects;
  bool kept = false;          ///< taken over from an earlier run
  bool may_change = false;    ///< something was rejected that another try may not reject
  std::string other_version;  ///< version of packhorse that had finished it, so it was made again
};

/// Packs shard number `shard`, or keeps what an earlier run made of it when its inputs (names,
/// sizes, times, labels, options) and its files' SHA-256 are unchanged. Thread-safe for different
/// shards. Call it inside a TBB arena: reading, checking and transforming run in parallel, writing
/// in plan order.
///
/// Memory: `tokens` batches, each of 1 MiB of inputs or a single input, with what the transform
/// makes of them; inputs beyond 8 MiB are held one at a time; about 150 bytes a sample for the
/// index, and 48 and its name for the shard's part of the list.
ShardOutcome pack_shard(const ShardJob& job, std::size_t shard, Progress& progress);

/// Returns what an earlier run or another process made of the shard; nothing when it must be
/// packed.
std::optional<ShardOutcome> kept_shard(const ShardJob& job, std::size_t shard, Progress& progress);

}  // namespace packhorse
