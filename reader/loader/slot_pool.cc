#include "loader/slot_pool.h"

#include <cstring>
#include <new>
#include <utility>

namespace packhorse::reader {

namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

std::shared_ptr<std::uint8_t> SlotPool::get() {
  Piece piece;
  {
    const std::lock_guard lock(mutex_);
    free_.reserve(spare_);  // so that put_back() never allocates
    if (!free_.empty()) {
      piece = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!piece) piece = allocate();
  const auto owner = std::make_shared<Returned>(shared_from_this(), std::move(piece));
  return {owner, owner->piece.get()};
}

void SlotPool::close() {
  const std::lock_guard lock(mutex_);
  spare_ = 0;
  free_.clear();
}

SlotPool::Piece SlotPool::allocate() const {
  Piece piece;
  if (allocator_.allocate) {
    piece =
        Piece(static_cast<std::uint8_t*>(allocator_.allocate(bytes_)),
              [give = allocator_.deallocate, bytes = bytes_](std::uint8_t* p) { give(p, bytes); });
    if (!piece) throw std::bad_alloc();
  } else {
    piece = Piece(static_cast<std::uint8_t*>(::operator new(bytes_, kAlignment)),
                  [](std::uint8_t* p) { ::operator delete(p, kAlignment); });
  }
  std::memset(piece.get(), 0, bytes_);
  return piece;
}

void SlotPool::put_back(Piece piece) noexcept {
  const std::lock_guard lock(mutex_);
  if (free_.size() < spare_) free_.push_back(std::move(piece));
}

SlotPool::Returned::~Returned() { pool->put_back(std::move(piece)); }

}  // namespace packhorse::reader
