#pragma once

#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>

#include "storage/dataset/shard_object.h"

namespace packhorse {

/// Pieces of a shard in memory, as they were asked for. Thread-safe.
class MemoryPieces : public std::enable_shared_from_this<MemoryPieces> {
 public:
  explicit MemoryPieces(std::shared_ptr<ShardObject> object) : object_(std::move(object)) {}

  /// The bytes of a range, with an owner. Waits for them. Throws what ShardObject::fetch() throws.
  BytesLease view(ByteRange range);
  void prefetch(ByteRange range);
  /// Drops the pieces that a range lies in.
  void forget(ByteRange range);
  /// Drops all that are not on their way.
  void clear();

 private:
  struct Piece {
    ByteRange range;
    Buffer bytes = {};  ///< empty while it is on its way
    std::exception_ptr error = {};
    bool over = false;  ///< it came, or failed
  };
  using PiecePtr = std::shared_ptr<Piece>;

  PiecePtr find(ByteRange range) const;
  PiecePtr add(ByteRange range);
  void drop(const PiecePtr& piece);
  void end(const PiecePtr& piece, Buffer bytes, std::exception_ptr error);
  void fetch(const PiecePtr& piece);

  const std::shared_ptr<ShardObject> object_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::multimap<std::uint64_t, PiecePtr> pieces_;  ///< by where they begin
  std::uint64_t longest_ = 0;                      ///< of all that ever were
};

}  // namespace packhorse
