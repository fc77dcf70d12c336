#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "formats/foreign_shard.h"
#include "packhorse/walkers/walkers.h"
#include "walkers/walk_task.h"

/// Says what a shard made by others holds, through its format's library. A file from outside may
/// crash that library or keep it busy for ever, so walkers (walkers/walker.h) run it in a process
/// of its own, with limits on time and memory that depend on the size of the shard.
namespace packhorse {

/// What is known about a shard before its first sample.
struct ShardFacts {
  std::string layout;
  std::vector<std::string> fields;  ///< sorted
  std::vector<Reject> rejects;
  std::vector<Skip> skips;
  std::size_t samples = 0;
};

/// Receives the pieces of a description.
class ShardVisitor {
 public:
  virtual ~ShardVisitor() = default;
  /// Called first.
  virtual void begin(ShardFacts facts) = 0;
  /// Called for each sample, in stored order.
  virtual void add(FoundSample sample) = 0;
};

/// Describes a shard to `visitor`; without walkers, the library runs in this process. Throws what
/// opening the shard throws, and Error(kCorrupt) naming the shard and the sample when the process
/// crashed or took too much.
void describe_shard(const ForeignFormat& format, const std::filesystem::path& data_file,
                    const ForeignOptions& options, const std::shared_ptr<WalkerPool>& walkers,
                    ShardVisitor& visitor);

/// The other end of describe_shard(): does a task of kind kDescribe, and says its result, or the
/// Error that ended it, in lines. `row`: the sample being looked at.
void describe_in_lines(const WalkTask& task, std::atomic<std::int64_t>& row,
                       const std::function<void(const std::string& line)>& say);

}  // namespace packhorse
