#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "packhorse/trainer/checkpoint/checkpoint.h"

namespace packhorse::trainer {

struct CheckpointStoreOptions {
  std::filesystem::path directory;
  int keep = 0;            ///< checkpoints kept as step-N.pt beside last.pt and best.pt
  std::string after_save;  ///< shell command for each checkpoint written; its $1 is the file
};

/// The checkpoints of a run: last.pt, best.pt, and the latest `keep` as step-000001234.pt. They are
/// written by a thread, one after the other, while training goes on; each appears at once and
/// whole, and last.pt last, when the others are on the disk. One thread at a time, apart from that.
class CheckpointStore {
 public:
  explicit CheckpointStore(CheckpointStoreOptions options);
  /// Waits as finish() does, but keeps quiet about failures.
  ~CheckpointStore();
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  std::filesystem::path last() const;
  std::filesystem::path best() const;

  /// Hands a checkpoint over to the thread. Waits for the one before, if that is not written yet,
  /// and throws its failure: Error(kIo | kNoSpace). The command's failures are notes, never thrown.
  void save(Checkpoint checkpoint, std::int64_t step, bool is_best);
  /// Waits until everything handed over is written and the command is through. Throws as save().
  void finish();
  /// What the command said when it failed, since the last call.
  std::vector<std::string> take_notes();

  /// The first checkpoint takes the place of an earlier run's: of its last.pt, best.pt and
  /// step-N.pt none stays, and none goes before the new one is on the disk. Until then a file
  /// "replacing" says that the logs beside them are not theirs. Makes the directory. Call before
  /// save().
  void replace_earlier();
  /// Throws Error(kExists) where a run died between replace_earlier() and its first checkpoint.
  void refuse_replaced() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
