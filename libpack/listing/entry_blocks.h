#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "listing/entry_memory.h"

namespace packhorse {

/// The numbers of an entry, as in EntryTable.
struct EntryRecord {
  std::uint64_t size = 0;
  std::int64_t stamp = 0;
  std::uint64_t locator = 0;
  std::uint32_t name = 0;  ///< where the name starts in EntryBlock::names
  std::uint32_t name_length = 0;
  std::uint32_t directory = 0;
  std::int32_t label = 0;
  std::uint32_t field_bytes = 0;
  std::uint32_t fields = 0;
};

/// Consecutive records with their names.
struct EntryBlock {
  static constexpr std::size_t kRecords = std::size_t{1} << 12;
  std::vector<EntryRecord> records;
  std::string names;
  std::string_view name_of(const EntryRecord& record) const {
    return std::string_view(names).substr(record.name, record.name_length);
  }
  std::uint64_t bytes() const { return records.size() * sizeof(EntryRecord) + names.size(); }
};

/// Records in blocks. They go to the file of an EntryMemory when it has no memory left for them.
/// Copies share their blocks. Any thread may read; one thread may add while none reads.
class EntryBlocks {
 public:
  EntryBlocks() = default;  ///< everything stays in memory
  /// Null: everything stays in memory.
  explicit EntryBlocks(std::shared_ptr<EntryMemory> memory) : memory_(std::move(memory)) {}

  /// Sets `name` and `name_length` of the record. Throws Error(kUnsupported) for names of more than
  /// 4 GiB in one block; and as EntryMemory::write().
  void add(EntryRecord record, std::string_view name);
  /// Counts the records that are not in a full block as part of the memory, too, or puts them into
  /// the file.
  void settle();
  std::size_t size() const {
    return full_.size() * EntryBlock::kRecords + last_.records.size() - missing_;
  }
  std::size_t blocks() const { return full_.size() + (last_.records.empty() ? 0 : 1); }
  const std::shared_ptr<EntryMemory>& memory() const { return memory_; }
  /// Whether a block is in the file.
  bool in_file() const { return blocks_in_file_ > 0; }

  /// A block in memory: as long as this exists, and the EntryBlocks are not changed.
  class Held {
   public:
    explicit Held(const EntryBlock& block) : block_(&block) {}
    explicit Held(std::shared_ptr<const EntryBlock> block)
        : block_(block.get()), owned_(std::move(block)) {}
    const EntryBlock& operator*() const { return *block_; }
    const EntryBlock* operator->() const { return block_; }

   private:
    const EntryBlock* block_;
    std::shared_ptr<const EntryBlock> owned_;  ///< where it was read from the file
  };
  /// Block `b`, for repeated accesses.
  Held block(std::size_t b) const;
  /// Block `b`, for passes that read each block once.
  Held block_once(std::size_t b) const;
  /// Forgets a block; what it held must not be asked for again.
  void drop(std::size_t b);

 private:
  /// A full block, in memory or in the file.
  class Full;
  void close_last();
  void reopen_last();

  std::shared_ptr<EntryMemory> memory_;
  std::vector<std::shared_ptr<const Full>> full_;
  EntryBlock last_;
  std::size_t missing_ = 0;  ///< records by which the last of `full_` is short, once settled
  std::size_t blocks_in_file_ = 0;
};

}  // namespace packhorse
