#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "base/stop.h"
#include "listing/entry_table.h"

/// Brings the entries of a table into another order, a part of them at a time: what a table holds
/// may be far more than the memory.
namespace packhorse {

namespace {

/// What is sorted at a time where nothing else is said.
constexpr std::uint64_t kBytesAtOnce = 64u << 20;

std::uint64_t bytes_of(const EntryBlocks& blocks) {
  std::uint64_t bytes = 0;
  for (std::size_t b = 0; b < blocks.blocks(); ++b) bytes += blocks.block_once(b)->bytes();
  return bytes;
}

/// How much of `bytes` is sorted at once. Every part that this makes takes a block besides, so
/// parts as large as all those blocks together take the least memory.
std::uint64_t bytes_at_once(const EntryBlocks& blocks, std::uint64_t bytes) {
  constexpr std::uint64_t kBlock = 256u << 10;
  const auto least = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(bytes) * kBlock));
  return std::max(blocks.memory() ? blocks.memory()->bytes_to_sort() : kBytesAtOnce, least);
}

}  // namespace

/// Compares "directory/name" without joining them where the directories tell.
bool EntryTable::path_less(const EntryBlock& block_a, const EntryRecord& a,
                           const EntryBlock& block_b, const EntryRecord& b) const {
  obey_stop();
  const std::string_view name_a = block_a.name_of(a), name_b = block_b.name_of(b);
  if (a.directory == b.directory) return name_a < name_b;
  const std::string_view in_a = directories_[a.directory], in_b = directories_[b.directory];
  const std::size_t common = std::min(in_a.size(), in_b.size());
  if (const int order = in_a.substr(0, common).compare(in_b.substr(0, common)); order != 0)
    return order < 0;
  const auto path = [](std::string_view directory, std::string_view name) {
    return directory.empty() ? std::string(name) : std::string(directory) + '/' + std::string(name);
  };
  return path(in_a, name_a) < path(in_b, name_b);
}

bool EntryTable::is_sorted() const {
  std::optional<EntryBlocks::Held> before;
  for (std::size_t b = 0; b < blocks_.blocks(); ++b) {
    const EntryBlocks::Held block = blocks_.block_once(b);
    const std::vector<EntryRecord>& records = block->records;
    if (before && path_less(*block, records.front(), **before, (*before)->records.back()))
      return false;
    for (std::size_t i = 1; i < records.size(); ++i)
      if (path_less(*block, records[i], *block, records[i - 1])) return false;
    before = block;
  }
  return true;
}

/// Sorted parts of a table, and how they become one.
class EntryTable::Runs {
 public:
  Runs(const EntryTable& table, std::uint64_t at_once) : table_(table), at_once_(at_once) {}

  /// Sorts as many blocks as may be held at once into a run, and drops them from `from`. Returns
  /// the number of the first block left.
  std::size_t add(EntryBlocks& from, std::size_t first) {
    std::vector<EntryBlocks::Held> blocks;
    std::vector<std::uint64_t> places;  // block and record: kRecords * block + record
    std::uint64_t bytes = 0;
    std::size_t end = first;
    for (; end < from.blocks() && (bytes == 0 || bytes < at_once_); ++end) {
      blocks.push_back(from.block_once(end));
      const std::size_t begin = (end - first) * EntryBlock::kRecords;
      for (std::size_t i = 0; i < blocks.back()->records.size(); ++i) places.push_back(begin + i);
      bytes += blocks.back()->bytes();
    }
    const auto block_of = [&](std::uint64_t place) -> const EntryBlock& {
      return *blocks[place / EntryBlock::kRecords];
    };
    const auto record_of = [&](std::uint64_t place) -> const EntryRecord& {
      return block_of(place).records[place % EntryBlock::kRecords];
    };
    std::ranges::stable_sort(places, [&](std::uint64_t a, std::uint64_t b) {
      return table_.path_less(block_of(a), record_of(a), block_of(b), record_of(b));
    });
    EntryBlocks& run = runs_.emplace_back(from.memory());
    for (const std::uint64_t place : places)
      run.add(record_of(place), block_of(place).name_of(record_of(place)));
    blocks.clear();
    for (std::size_t b = first; b < end; ++b) from.drop(b);
    return end;
  }

  EntryBlocks merged() {
    if (runs_.size() == 1) return std::move(runs_.front());
    std::vector<Cursor> heads;
    for (EntryBlocks& run : runs_) heads.emplace_back(run);
    // The heap's top is the least path; of equal ones, that of the first run.
    std::vector<std::size_t> heap(heads.size());
    std::iota(heap.begin(), heap.end(), 0);
    const auto later = [&](std::size_t a, std::size_t b) {
      const Cursor &x = heads[a], &y = heads[b];
      if (table_.path_less(x.block(), x.record(), y.block(), y.record())) return false;
      if (table_.path_less(y.block(), y.record(), x.block(), x.record())) return true;
      return a > b;
    };
    std::make_heap(heap.begin(), heap.end(), later);
    EntryBlocks all(table_.memory());
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), later);
      Cursor& head = heads[heap.back()];
      all.add(head.record(), head.block().name_of(head.record()));
      if (head.next()) {
        std::push_heap(heap.begin(), heap.end(), later);
      } else {
        heap.pop_back();
      }
    }
    return all;
  }

 private:
  /// Goes through the records of a run, and drops the blocks behind it.
  class Cursor {
   public:
    explicit Cursor(EntryBlocks& run) : run_(&run), block_(run.block_once(0)) {}
    const EntryBlock& block() const { return *block_; }
    const EntryRecord& record() const { return block_->records[record_]; }
    bool next() {
      if (++record_ < block_->records.size()) return true;
      if (at_ + 1 == run_->blocks()) return false;
      block_ = run_->block_once(at_ + 1);
      run_->drop(at_++);
      record_ = 0;
      return true;
    }

   private:
    EntryBlocks* run_;
    std::size_t at_ = 0, record_ = 0;
    EntryBlocks::Held block_;
  };

  const EntryTable& table_;
  const std::uint64_t at_once_;  ///< bytes
  std::vector<EntryBlocks> runs_;
};

void EntryTable::sort_by_path() {
  if (is_sorted()) return;
  const std::uint64_t bytes = bytes_of(blocks_);
  // One large sort at a time: together, the small ones of several threads take no more than it.
  std::unique_lock<std::mutex> alone;
  if (memory() && bytes > memory()->bytes_to_sort() / 16)
    alone = std::unique_lock(memory()->sorting());
  Runs runs(*this, bytes_at_once(blocks_, bytes));
  for (std::size_t b = 0, n = blocks_.blocks(); b < n;) b = runs.add(blocks_, b);
  blocks_ = runs.merged();
}

/// First distributes the entries over parts of the new order, each of which fits into memory, then
/// orders each part.
void EntryTable::permute(const Permutation& order) {
  const std::uint64_t bytes = bytes_of(blocks_);
  const std::uint64_t parts = bytes / bytes_at_once(blocks_, bytes) + 1;
  const std::uint64_t share = (size() + parts - 1) / parts;  // entries of a part
  std::vector<EntryBlocks> distributed(parts, EntryBlocks(memory()));
  for (std::size_t b = 0, n = blocks_.blocks(); b < n; ++b) {
    obey_stop();
    {
      const EntryBlocks::Held block = blocks_.block_once(b);
      for (std::size_t i = 0; i < block->records.size(); ++i) {
        const EntryRecord& record = block->records[i];
        const std::uint64_t place = order.inverse(b * EntryBlock::kRecords + i);
        distributed[place / share].add(record, block->name_of(record));
      }
    }
    blocks_.drop(b);
  }
  EntryBlocks ordered(memory());
  for (std::uint64_t part = 0, begin = 0; begin < order.size(); ++part, begin += share) {
    obey_stop();
    // A part holds its entries in their old order, so the old numbers, sorted, are theirs.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> old;  // number, place in the part
    for (std::uint64_t i = begin; i < std::min(begin + share, order.size()); ++i)
      old.emplace_back(order(i), static_cast<std::uint32_t>(i - begin));
    std::ranges::sort(old);
    std::vector<std::uint32_t> at(old.size());  // place in the part -> record in `distributed`
    for (std::uint32_t r = 0; r < old.size(); ++r) at[old[r].second] = r;
    std::vector<EntryBlocks::Held> blocks;
    for (std::size_t b = 0; b < distributed[part].blocks(); ++b)
      blocks.push_back(distributed[part].block_once(b));
    for (const std::uint32_t r : at) {
      const EntryBlock& block = *blocks[r / EntryBlock::kRecords];
      const EntryRecord& record = block.records[r % EntryBlock::kRecords];
      ordered.add(record, block.name_of(record));
    }
    blocks.clear();
    distributed[part] = EntryBlocks(memory());
  }
  blocks_ = std::move(ordered);
}

}  // namespace packhorse
