#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "dataset/shard_index.h"
#include "storage/dataset/remote_parts.h"
#include "storage/dataset/sample_check.h"

namespace packhorse {

using Buffer = std::shared_ptr<std::vector<std::byte>>;

/// The object that is a shard's data file: hands out ranges whose samples have their hashes. What
/// was started may go on when the dataset is closed; nobody hears of it then. Thread-safe.
class ShardObject : public std::enable_shared_from_this<ShardObject> {
 public:
  /// `index` is looked at until close().
  ShardObject(RemoteParts parts, std::string name, std::uint64_t bytes, const ShardIndex& index)
      : parts_(std::move(parts)), name_(std::move(name)), bytes_(bytes), check_(index) {}

  /// Waits for a range. It is fetched once more when its bytes are not the right ones, as they may
  /// have been damaged on the way. Throws what the store throws, and Error(kCorrupt).
  Buffer fetch(ByteRange range) const;
  /// Starts to fetch a range ahead. False when too much is on its way already, and for more than is
  /// taken into memory at a time. `landed` is called
  /// once, in the thread of the landing, with the bytes, or with nullptr where that failed or they
  /// were not the right ones: whoever needs them fetches them, and hears why not. It must not
  /// throw, and is called after close(), too.
  bool start(ByteRange range, std::function<void(Buffer)> landed);
  /// Ends looking at the index. Waits for what is being looked at.
  void close();

  std::uint64_t bytes() const { return bytes_; }
  const RemoteParts& parts() const { return parts_; }

 private:
  RangeRead range_read(ByteRange range, const Buffer& buffer) const;
  bool fits(ByteRange range, const Buffer& buffer);

  const RemoteParts parts_;
  const std::string name_;
  const std::uint64_t bytes_;
  const SampleCheck check_;
  std::shared_mutex looking_;
  bool closed_ = false;  ///< under looking_
};

}  // namespace packhorse
