#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace packhorse::trainer {

struct CheckpointStoreOptions {
  std::filesystem::path directory;
  int keep = 0;            ///< checkpoints kept as step-N.pt beside last.pt and best.pt
  std::string after_save;  ///< shell command for each checkpoint written; its $1 is the file
};

/// Keeps the checkpoints of a run: last.pt, best.pt, and the latest `keep` as step-000001234.pt. A
/// thread writes them one after the other while training goes on. Each appears at once and whole;
/// last.pt appears last, when the others are on the disk. Apart from that thread, one thread at a
/// time.
class CheckpointStore {
 public:
  explicit CheckpointStore(CheckpointStoreOptions options);
  /// Waits as finish() does, but ignores failures.
  ~CheckpointStore();
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  std::filesystem::path last() const;
  std::filesystem::path best() const;

  /// Hands a checkpoint over to the thread. Waits for the one before, if it is not written yet, and
  /// throws its failure: Error(kIo | kNoSpace). Failures of the command become notes and are never
  /// thrown.
  void save(Checkpoint checkpoint, std::int64_t step, bool is_best);
  /// Waits until everything handed over is written and the command has ended. Throws as save()
  /// does.
  void finish();
  /// Returns what failed commands said since the last call.
  std::vector<std::string> take_notes();

  /// Makes the first checkpoint replace an earlier run's last.pt, best.pt and step-N.pt: all are
  /// removed, but only after the new one is on the disk. Until then a file "replacing" says that
  /// the logs in the directory do not belong to those checkpoints. Makes the directory. Call before
  /// save().
  void replace_earlier();
  /// Throws Error(kExists) where a run died between replace_earlier() and its first checkpoint.
  void refuse_replaced() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
