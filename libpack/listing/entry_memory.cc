#include "packhorse/listing/entry_memory.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/unnamed_file.h"
#include "packhorse/base/error.h"
#include "packhorse/listing/entry_blocks.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kLeastCache = 8u << 20;

}  // namespace

EntryMemory::EntryMemory(std::uint64_t bytes, fs::path scratch)
    : bytes_(bytes), directory_(std::move(scratch)) {}

std::uint64_t EntryMemory::bytes_to_sort() const {
  constexpr std::uint64_t kLeast = 2u << 20;
  return std::max(bytes_ / 4, kLeast);
}

bool EntryMemory::take(std::uint64_t bytes) {
  std::uint64_t taken = taken_;
  do {
    if (taken + bytes > bytes_ / 2) return false;
  } while (!taken_.compare_exchange_weak(taken, taken + bytes));
  return true;
}

std::uint64_t EntryMemory::write(const EntryBlock& block) {
  std::call_once(opened_, [this] { fd_ = open_unnamed_file(directory_); });
  const std::uint64_t offset = end_.fetch_add(block.bytes());
  const Bytes records = std::as_bytes(std::span(block.records));
  try {
    write_exactly(fd_.get(), offset, records, directory_);
    write_exactly(fd_.get(), offset + records.size(), as_bytes(block.names), directory_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNoSpace) throw;
    throw Error(ErrorKind::kNoSpace,
                fmt::format("no space left for the temporary file of the list of samples, after "
                            "{:.1f} MiB",
                            static_cast<double>(offset) / (1 << 20)),
                directory_, "free some space there, or let the list stay in memory: --memory");
  }
  return offset;
}

std::shared_ptr<const EntryBlock> EntryMemory::read(const Place& place) const {
  auto block = std::make_shared<EntryBlock>();
  block->records.resize(place.records);
  block->names.resize(place.name_bytes);
  const std::span<std::byte> records = std::as_writable_bytes(std::span(block->records));
  const fs::path name = directory_ / "(temporary file)";
  read_exactly(fd_.get(), place.offset, records, name);
  read_exactly(fd_.get(), place.offset + records.size(),
               std::as_writable_bytes(std::span(block->names)), name);
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
  // File systems that cannot do this keep the bytes until the file goes.
  const std::uint64_t bytes = place.records * sizeof(EntryRecord) + place.name_bytes;
  ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(place.offset), static_cast<off_t>(bytes));
}

}  // namespace packhorse
