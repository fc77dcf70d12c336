#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// How far the packing of a dataset is, by what lies in its staging directory: for whoever waits
/// for many machines.
namespace packhorse {

/// A share, or all of the work of a process without one. Times are in seconds.
struct TaskStatus {
  std::string task;  ///< "3/8"; empty: the whole
  std::string host;  ///< of the process that began with it last; empty: none has
  std::int64_t pid = 0;
  std::uint64_t shards = 0, done = 0;  ///< of the share
  std::uint64_t bytes = 0;             ///< of the shards that are done
  std::optional<double> last_s;        ///< since the last of them was done
  std::optional<double> sign_s;        ///< since the process was last known to live
  std::optional<double> left_s;        ///< at the pace so far

  enum class State : std::uint8_t {
    kDone,
    kAtWork,
    kSlow,     ///< at work, on a shard for more than three times as long as shards usually take
    kStopped,  ///< it has ended before it was done
    kSilent,   ///< no sign of life: killed, or its machine is gone
    kNobody,   ///< nobody has begun
  };
  State state = State::kNobody;
};

struct PackStatus {
  std::filesystem::path staging;
  std::uint64_t shards = 0, done = 0, bytes = 0;
  std::vector<TaskStatus> tasks;  ///< by their numbers
  std::optional<double> left_s;   ///< until the last task is done; unknown where one will not be
  /// How far the newest file lies ahead of the clock by which times are judged: clocks differ; 0:
  /// not by seconds.
  double clock_behind_s = 0;
  /// That clock is this machine's: in the staging directory no file could be made to ask its own.
  bool own_clock = false;
};

const char* name_of(TaskStatus::State state);

/// The dataset that is packed into `out`. Makes a file without a name there, to ask what time it
/// is. Throws Error(kNotFound) when nobody packs there, or has told of it yet; Error(kUnsupported)
/// for a URL.
PackStatus pack_status(const std::filesystem::path& out);

}  // namespace packhorse
