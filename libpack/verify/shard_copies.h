#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "dataset/dataset_directory.h"
#include "packhorse/base/bytes.h"

namespace packhorse {

/// Data files of a dataset at a URL, copied to the disk while they are checked, since the libraries
/// that look into them read files. A thread of its own copies them in the order in which they will
/// be needed, some ahead; each goes when nothing needs it any more. Thread-safe.
class ShardCopies {
 public:
  /// A file that will be needed `uses` times.
  struct Wanted {
    std::string file;
    std::uint64_t bytes = 0;
    /// What it should have: a copy that has another is made once more, as it may have been damaged
    /// on the way. What stays damaged is for the checks to find. Empty: no copy can have it.
    std::string sha256 = {};
    std::size_t uses = 0;
  };

  /// Makes a directory below the system's for temporary files, with dataset.json in it. `dataset`
  /// must outlive it.
  ShardCopies(const DatasetDirectory& dataset, const std::string& manifest);
  ~ShardCopies();
  ShardCopies(const ShardCopies&) = delete;
  ShardCopies& operator=(const ShardCopies&) = delete;

  const std::filesystem::path& root() const { return directory_.path(); }
  /// Puts a small file of the dataset beside the others.
  void put(const std::string& name, Bytes content) const;
  /// Begins to copy files, at most `most` of them there at once. Call it once.
  void start(std::vector<Wanted> wanted, std::size_t most);
  /// Waits until file number `i` is there. Throws what copying it threw: Error(kNotFound | kIo |
  /// kCorrupt | kNoSpace | kInterrupted).
  void wait_for(std::size_t i);
  /// Ends one use of file number `i`; the last one removes it.
  void release(std::size_t i);

 private:
  struct Copy {
    Wanted wanted;
    bool there = false;
  };
  void copy_all();
  void copy(const Wanted& wanted) const;

  const DatasetDirectory& dataset_;
  const ScratchDirectory directory_;
  std::size_t most_ = 1;
  std::stop_source over_;  ///< the caller asked to stop, or this ends
  std::optional<std::stop_callback<std::function<void()>>> given_;
  std::mutex mutex_;  ///< guards everything below
  std::condition_variable_any changed_;
  std::vector<Copy> copies_;
  std::size_t there_ = 0;
  std::exception_ptr error_;  ///< nothing is copied after it
  std::jthread thread_;       ///< the last member: it uses the others
};

}  // namespace packhorse
