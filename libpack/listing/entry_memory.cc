#include "listing/entry_memory.h"

#include <algorithm>

#include "listing/entry_blocks.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kLeastCache = 4u << 20;

}  // namespace

EntryMemory::EntryMemory(std::uint64_t bytes, fs::path scratch)
    : bytes_(bytes),
      scratch_(std::move(scratch)),
      file_(scratch_, "the list of samples", "let the list stay in memory: `memory=`") {}

std::uint64_t EntryMemory::bytes_to_sort() const {
  constexpr std::uint64_t kLeast = 1u << 20;
  return std::max(bytes_ / 8, kLeast);
}

bool EntryMemory::take(std::uint64_t bytes) {
  std::uint64_t taken = taken_;
  do {
    if (taken + bytes > bytes_ / 2) return false;
  } while (!taken_.compare_exchange_weak(taken, taken + bytes));
  return true;
}

std::uint64_t EntryMemory::write(const EntryBlock& block) {
  return file_.append(std::as_bytes(std::span(block.records)), as_bytes(block.names));
}

std::shared_ptr<const EntryBlock> EntryMemory::read(const Place& place) const {
  auto block = std::make_shared<EntryBlock>();
  block->records.resize(place.records);
  block->names.resize(place.name_bytes);
  const std::span<std::byte> records = std::as_writable_bytes(std::span(block->records));
  file_.read(place.offset, records);
  file_.read(place.offset + records.size(), std::as_writable_bytes(std::span(block->names)));
  return block;
}

std::shared_ptr<const EntryBlock> EntryMemory::find(const Place& place) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = places_.find(place.offset);
    if (found != places_.end()) {
      cache_.splice(cache_.begin(), cache_, found->second);
      return cache_.front().second;
    }
  }
  std::shared_ptr<const EntryBlock> block = read(place);
  const std::scoped_lock lock(mutex_);
  if (places_.contains(place.offset)) return block;  // another thread was faster
  cache_.emplace_front(place.offset, block);
  places_.emplace(place.offset, cache_.begin());
  cached_bytes_ += block->bytes();
  while (cache_.size() > 1 && cached_bytes_ > std::max(bytes_ / 16, kLeastCache)) drop_oldest();
  return block;
}

void EntryMemory::drop_oldest() {
  cached_bytes_ -= cache_.back().second->bytes();
  places_.erase(cache_.back().first);
  cache_.pop_back();
}

void EntryMemory::remove(const Place& place) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = places_.find(place.offset);
    if (found != places_.end()) {
      cached_bytes_ -= found->second->second->bytes();
      cache_.erase(found->second);
      places_.erase(found);
    }
  }
  file_.remove(place.offset, place.records * sizeof(EntryRecord) + place.name_bytes);
}

}  // namespace packhorse
