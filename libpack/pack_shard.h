#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/format.h"
#include "packhorse/manifest.h"
#include "packhorse/plan.h"
#include "packhorse/progress.h"
#include "packhorse/source.h"
#include "packhorse/transform.h"

namespace packhorse {

/// Everything that shapes the shards of one split.
struct ShardJob {
  const Source& source;
  const SplitListing& listing;
  const Plan& plan;
  const Format& format;
  const TransformKind& transform;
  TransformOptions transform_options;
  const std::vector<std::string>& fields;  ///< names of extra fields
  int zstd_level;
  const std::vector<std::string>& classes;
  std::uint64_t max_pixels;
  std::filesystem::path data;      ///< directory the shards go to
  std::filesystem::path receipts;  ///< directory for notes about finished shards
  std::size_t tokens;              ///< images in memory at a time
};

/// A finished shard. `record.samples == 0`: all its inputs were rejected, and no file was written.
struct ShardOutcome {
  ShardRecord record;
  std::uint64_t bytes_in = 0;
  std::vector<Reject> rejects;
  bool kept = false;  ///< taken over from an earlier run
};

/// Packs shard number `shard`, or keeps what an earlier run made of it when its inputs (names,
/// sizes, times, labels, options) and its files' SHA-256 are unchanged. Thread-safe for different
/// shards. Call inside a TBB arena: reading, checking and transforming run in parallel, writing in
/// plan order.
ShardOutcome pack_shard(const ShardJob& job, std::size_t shard, Progress& progress,
                        const std::stop_token& stop);

}  // namespace packhorse
