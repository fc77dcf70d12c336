#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "packhorse/reader/loader.h"

namespace packhorse::reader {

/// Memory for slots, all of one size. Memory that is given back is kept for the next to ask, up to
/// `spare` pieces. Thread-safe; pieces may outlive all other owners of the pool.
class SlotPool : public std::enable_shared_from_this<SlotPool> {
 public:
  SlotPool(SlotAllocator allocator, std::size_t bytes, std::size_t spare)
      : allocator_(std::move(allocator)), bytes_(bytes), spare_(spare) {}

  /// A piece, which comes back when its last owner goes. A new one is cleared, so that every page
  /// exists and nothing is ever uninitialised. Throws std::bad_alloc.
  std::shared_ptr<std::uint8_t> get();
  /// Frees what is kept, now and from now on: nobody will ask again.
  void close();

 private:
  using Piece = std::unique_ptr<std::uint8_t, std::function<void(std::uint8_t*)>>;
  /// A piece in use. Goes back to the pool with its last owner.
  struct Returned {
    Returned(std::shared_ptr<SlotPool> to, Piece used)
        : pool(std::move(to)), piece(std::move(used)) {}
    ~Returned();
    Returned(const Returned&) = delete;
    Returned& operator=(const Returned&) = delete;
    std::shared_ptr<SlotPool> pool;
    Piece piece;
  };
  Piece allocate() const;
  void put_back(Piece piece) noexcept;

  const SlotAllocator allocator_;
  const std::size_t bytes_;
  std::mutex mutex_;
  std::size_t spare_;
  std::vector<Piece> free_;
};

}  // namespace packhorse::reader
