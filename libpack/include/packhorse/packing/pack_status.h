#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The progress of packing a dataset, from the files in its staging directory.
namespace packhorse {

/// A share, or all of the work of a process without one. Times are in seconds.
struct TaskStatus {
  std::string task;  ///< "3/8"; empty: the whole
  std::string host;  ///< of the process that started it last; empty: none has
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
    kNobody,   ///< not started
  };
  State state = State::kNobody;
};

struct PackStatus {
  std::filesystem::path staging;
  std::uint64_t shards = 0, done = 0, bytes = 0;
  std::vector<TaskStatus> tasks;  ///< by their numbers
  std::optional<double> left_s;   ///< until the last task is done; unknown where one will not be
  /// How far the newest file is ahead of the clock that judges times, because clocks differ; 0:
  /// less than seconds.
  double clock_behind_s = 0;
  /// That clock is this machine's, because no file could be made in the staging directory to read
  /// its clock.
  bool own_clock = false;
};

const char* name_of(TaskStatus::State state);

/// The dataset that is packed into `out`. Makes an unnamed file there, to read the storage's clock.
/// Throws Error(kNotFound) when no process packs there; Error(kUnsupported) for a URL.
PackStatus pack_status(const std::filesystem::path& out);

}  // namespace packhorse
