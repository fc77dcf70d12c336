#include "listing/entry_blocks.h"

#include <limits>
#include <utility>

#include "packhorse/base/error.h"

namespace packhorse {

static_assert(sizeof(EntryRecord) == 48);

class EntryBlocks::Full {
 public:
  Full(EntryBlock block, std::shared_ptr<EntryMemory> memory)
      : memory_(std::move(memory)), bytes_(block.bytes()) {
    if (!memory_ || memory_->take(bytes_)) {
      block.names.shrink_to_fit();
      resident_ = std::move(block);
    } else {
      place_ = {memory_->write(block), static_cast<std::uint32_t>(block.records.size()),
                static_cast<std::uint32_t>(block.names.size())};
      in_file_ = true;
    }
  }
  ~Full() {
    if (in_file_) {
      memory_->remove(place_);
    } else if (memory_) {
      memory_->give_back(bytes_);
    }
  }
  Full(const Full&) = delete;
  Full& operator=(const Full&) = delete;

  bool in_file() const { return in_file_; }
  Held held() const { return in_file_ ? Held(memory_->find(place_)) : Held(resident_); }
  Held held_once() const { return in_file_ ? Held(memory_->read(place_)) : Held(resident_); }

 private:
  std::shared_ptr<EntryMemory> memory_;
  std::uint64_t bytes_;
  EntryBlock resident_;
  EntryMemory::Place place_;
  bool in_file_ = false;
};

void EntryBlocks::add(EntryRecord record, std::string_view name) {
  if (missing_ > 0) reopen_last();
  if (last_.records.size() == EntryBlock::kRecords) close_last();
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (last_.names.size() + name.size() > kMost) {
    throw Error(ErrorKind::kUnsupported, "the paths of samples have more than 4 GiB together", {},
                "give the samples shorter names");
  }
  record.name = static_cast<std::uint32_t>(last_.names.size());
  record.name_length = static_cast<std::uint32_t>(name.size());
  last_.names += name;
  last_.records.push_back(record);
}

/// Comes with the first record of the next block: until then, those who replace a table by another
/// have let go of the block that this one replaces.
void EntryBlocks::close_last() {
  full_.push_back(std::make_shared<Full>(std::exchange(last_, {}), memory_));
  if (full_.back()->in_file()) ++blocks_in_file_;
}

void EntryBlocks::settle() {
  if (last_.records.empty()) return;
  missing_ = EntryBlock::kRecords - last_.records.size();
  close_last();
}

void EntryBlocks::reopen_last() {
  last_ = *block_once(full_.size() - 1);
  if (full_.back()->in_file()) --blocks_in_file_;
  full_.pop_back();
  missing_ = 0;
}

EntryBlocks::Held EntryBlocks::block(std::size_t b) const {
  return b < full_.size() ? full_[b]->held() : Held(last_);
}

EntryBlocks::Held EntryBlocks::block_once(std::size_t b) const {
  return b < full_.size() ? full_[b]->held_once() : Held(last_);
}

void EntryBlocks::drop(std::size_t b) {
  if (b < full_.size()) {
    full_[b].reset();
  } else {
    last_ = {};
  }
}

}  // namespace packhorse
