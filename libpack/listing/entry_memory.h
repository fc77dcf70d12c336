#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/scratch_file.h"

namespace packhorse {

struct EntryBlock;

/// The memory limit of all entries of listings, and the unnamed file for the entries beyond it.
/// Thread-safe.
///
/// Of `bytes`, half is for entries that stay in memory, an eighth for those that sorting holds at a
/// time, and a sixteenth, but at least 4 MiB, for blocks that were read from the file; the rest is
/// left for what sorting needs besides.
class EntryMemory {
 public:
  /// `scratch`: directory for the file, as ListOptions::scratch. The file is made when it is
  /// needed.
  EntryMemory(std::uint64_t bytes, std::filesystem::path scratch);

  std::uint64_t bytes() const { return bytes_; }
  const std::filesystem::path& scratch() const { return scratch_; }
  /// How much sorting may hold at a time.
  std::uint64_t bytes_to_sort() const;
  /// Held while so much is sorted.
  std::mutex& sorting() { return sorting_; }
  /// How many bytes have been written to the file so far.
  std::uint64_t written() const { return file_.written(); }

  /// Takes `bytes` of the memory, if that much is left.
  bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) { taken_ -= bytes; }

  /// Writes a block to the file, and returns its place there. Throws Error(kNoSpace | kIo) with the
  /// directory.
  std::uint64_t write(const EntryBlock& block);
  /// Where a block is in the file, and what it consists of.
  struct Place {
    std::uint64_t offset = 0;
    std::uint32_t records = 0;
    std::uint32_t name_bytes = 0;
  };
  /// Reads a block again. Throws Error(kIo).
  std::shared_ptr<const EntryBlock> read(const Place& place) const;
  /// The same for repeated reads: the last blocks stay in memory.
  std::shared_ptr<const EntryBlock> find(const Place& place);
  /// Frees the disk space of a block.
  void remove(const Place& place);

 private:
  using Cached = std::pair<std::uint64_t, std::shared_ptr<const EntryBlock>>;  // by offset
  void drop_oldest();

  const std::uint64_t bytes_;
  const std::filesystem::path scratch_;
  std::atomic<std::uint64_t> taken_{0};
  ScratchFile file_;
  std::mutex sorting_;
  std::mutex mutex_;         ///< guards what follows
  std::list<Cached> cache_;  ///< the last one used first
  std::unordered_map<std::uint64_t, std::list<Cached>::iterator> places_;
  std::uint64_t cached_bytes_ = 0;
};

}  // namespace packhorse
