#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "packhorse/formats/foreign_shard.h"
#include "packhorse/walkers/walkers.h"
#include "walkers/walk_task.h"

/// What a shard of others holds, by way of its format's library. A file from outside may crash that
/// library, or keep it busy for ever, so walkers (verify/walker.h) do it in a process of its own,
/// with limits of time and memory by the size of the shard.
namespace packhorse {

/// What is known of a shard before its first sample.
struct ShardFacts {
  std::string layout;
  std::vector<std::string> fields;  ///< sorted
  std::vector<Reject> rejects;
  std::vector<Skip> skips;
  std::size_t samples = 0;
};

/// Gets the pieces of a description.
class ShardVisitor {
 public:
  virtual ~ShardVisitor() = default;
  /// First.
  virtual void begin(ShardFacts facts) = 0;
  /// Of each sample, in stored order.
  virtual void add(FoundSample sample) = 0;
};

/// Without walkers the library runs in this process. Throws what opening the shard does, and
/// Error(kCorrupt) that names the shard and the sample when the process crashed or took too much.
void describe_shard(const ForeignFormat& format, const std::filesystem::path& data_file,
                    const ForeignOptions& options, const std::shared_ptr<WalkerPool>& walkers,
                    ShardVisitor& visitor, const std::stop_token& stop);

/// The other end: does a task of kind kDescribe, and says what comes of it, or the Error that ended
/// it, in lines. `row`: the sample that is being looked at.
void describe_in_lines(const WalkTask& task, std::atomic<std::int64_t>& row,
                       const std::function<void(const std::string& line)>& say);

}  // namespace packhorse
