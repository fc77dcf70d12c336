#include "storage/dataset/memory_pieces.h"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace packhorse {

namespace {

using Clock = std::chrono::steady_clock;

bool covers(ByteRange whole, ByteRange part) {
  return part.offset >= whole.offset && part.end() <= whole.end();
}

}  // namespace

/// Under the mutex.
MemoryPieces::PiecePtr MemoryPieces::find(ByteRange range) const {
  const std::uint64_t earliest = range.end() > longest_ ? range.end() - longest_ : 0;
  for (auto at = pieces_.upper_bound(range.offset); at != pieces_.begin();) {
    --at;
    if (at->first < earliest) break;
    if (covers(at->second->range, range)) return at->second;
  }
  return nullptr;
}

/// Under the mutex.
MemoryPieces::PiecePtr MemoryPieces::add(ByteRange range) {
  auto piece = std::make_shared<Piece>(Piece{range});
  pieces_.emplace(range.offset, piece);
  longest_ = std::max(longest_, range.length);
  return piece;
}

void MemoryPieces::drop(const PiecePtr& piece) {
  const std::scoped_lock lock(mutex_);
  const auto [first, last] = pieces_.equal_range(piece->range.offset);
  const auto at =
      std::find_if(first, last, [&](const auto& entry) { return entry.second == piece; });
  if (at != last) pieces_.erase(at);
}

void MemoryPieces::end(const PiecePtr& piece, Buffer bytes, std::exception_ptr error) {
  const bool came = bytes != nullptr;
  {
    const std::scoped_lock lock(mutex_);
    piece->bytes = std::move(bytes);
    piece->error = std::move(error);
    piece->over = true;
  }
  ended_.notify_all();
  if (!came) return drop(piece);
  object_->parts().memory->add(piece->range.length, [self = weak_from_this(), piece] {
    if (const auto pieces = self.lock()) pieces->drop(piece);
  });
}

void MemoryPieces::fetch(const PiecePtr& piece) {
  try {
    end(piece, object_->fetch(piece->range), nullptr);
  } catch (...) {
    end(piece, nullptr, std::current_exception());
  }
}

BytesLease MemoryPieces::view(ByteRange range) {
  const Clock::time_point begin = Clock::now();
  PiecePtr piece;
  bool waited = false;
  for (bool mine = false; !piece; mine = false) {
    std::unique_lock lock(mutex_);
    piece = find(range);
    if (!piece) {
      piece = add(range);
      mine = true;
    }
    waited = waited || !piece->over;
    if (mine) {
      lock.unlock();
      fetch(piece);
    } else {
      ended_.wait(lock, [&] { return piece->over; });
    }
    if (piece->error) std::rethrow_exception(piece->error);
    if (!piece->bytes) piece = nullptr;  // what was asked for ahead did not come: fetch it here
  }
  if (waited) {
    RemoteEvents& events = *object_->parts().events;
    ++events.waits;
    events.wait_ns += static_cast<std::uint64_t>((Clock::now() - begin).count());
  }
  return {Bytes(*piece->bytes).subspan(range.offset - piece->range.offset, range.length),
          piece->bytes};
}

void MemoryPieces::prefetch(ByteRange range) {
  PiecePtr piece;
  {
    const std::scoped_lock lock(mutex_);
    if (find(range)) return;
    piece = add(range);
  }
  const auto land = [self = shared_from_this(), piece](Buffer bytes) {
    self->end(piece, std::move(bytes), nullptr);
  };
  try {
    if (!object_->start(range, land)) end(piece, nullptr, nullptr);
  } catch (...) {
    end(piece, nullptr, nullptr);
    throw;
  }
}

void MemoryPieces::forget(ByteRange range) {
  while (true) {
    PiecePtr piece;
    {
      const std::scoped_lock lock(mutex_);
      piece = find(range);
    }
    if (!piece) return;
    ++object_->parts().events->damaged;
    drop(piece);
  }
}

void MemoryPieces::clear() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(pieces_, [](const auto& entry) { return entry.second->over; });
}

}  // namespace packhorse
