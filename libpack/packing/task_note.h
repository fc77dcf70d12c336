#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "packhorse/packing/pack.h"

namespace packhorse {

/// Who packs a share, for whoever asks how far it is (pack_status.h):
///
///     OUT.partial/tasks/3-of-8.json     "all.json" for a process without a share
///
/// The time of the file says that the process lives: it is renewed every some seconds.
struct TaskNote {
  std::string task;  ///< "3/8", or empty
  std::string host;
  std::int64_t pid = 0;
  std::vector<std::string> splits;
  std::vector<std::uint64_t> shards;  ///< of each split, all of them
  bool ended = false;                 ///< the process, in good order

  static constexpr const char* kFolder = "tasks";
  static constexpr std::chrono::seconds kSilent{60};  ///< without a sign: ten are usual
  void write(const std::filesystem::path& file) const;
  /// Nothing where it cannot be read: it may be from another version.
  static std::optional<TaskNote> read(const std::filesystem::path& file);
};

/// Another machine's process that is at work in a staging directory, by its note: one that has not
/// ended and has given a sign of life within the last minute, as the storage's clock has it.
/// `whole_runs`: only one without a share.
std::optional<TaskNote> at_work_elsewhere(const std::filesystem::path& staging, bool whole_runs);

/// Writes a note, and renews it until it goes. A disk that does not take it is no reason to stop.
class LivingNote {
 public:
  LivingNote(const std::filesystem::path& staging, const std::optional<TaskShare>& share,
             std::vector<std::string> splits, std::vector<std::uint64_t> shards);
  ~LivingNote();
  LivingNote(const LivingNote&) = delete;
  LivingNote& operator=(const LivingNote&) = delete;

 private:
  void renew(const std::stop_token& stop) const;

  TaskNote note_;
  std::filesystem::path file_;
  std::jthread thread_;
};

}  // namespace packhorse
