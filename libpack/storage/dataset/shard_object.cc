#include "storage/dataset/shard_object.h"

#include <mutex>

#include "packhorse/base/error.h"
#include "storage/dataset/object_copy.h"

namespace packhorse {

RangeRead ShardObject::range_read(ByteRange range, const Buffer& buffer) const {
  return {.name = name_, .range = range, .of_bytes = bytes_, .tag = {}, .into = *buffer};
}

Buffer ShardObject::fetch(ByteRange range) const {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto buffer = std::make_shared<std::vector<std::byte>>(
        read_in_pieces(*parts_.store, name_, range, bytes_, {}));
    if (check_.fits(range, *buffer)) return buffer;
    ++parts_.events->damaged;
  }
  throw Error(ErrorKind::kCorrupt, "the storage delivers other bytes than those that were packed",
              parts_.store->place().below(name_).shown(),
              "upload the file again, from a copy that `inspect(verify=full)` finds whole");
}

bool ShardObject::fits(ByteRange range, const Buffer& buffer) {
  const std::shared_lock lock(looking_);
  if (closed_) return false;
  if (check_.fits(range, *buffer)) return true;
  ++parts_.events->damaged;
  return false;
}

bool ShardObject::start(ByteRange range, std::function<void(Buffer)> landed) {
  if (range.length > kPieceInMemory || !parts_.memory->begin(range.length)) return false;
  const auto buffer = std::make_shared<std::vector<std::byte>>(range.length);
  const auto land = [self = shared_from_this(), range, buffer,
                     landed = std::move(landed)](const std::exception_ptr& error) {
    const auto work = [self, range, buffer, landed, error] {
      landed(!error && self->fits(range, buffer) ? buffer : nullptr);
      self->parts_.memory->end(range.length);
    };
    if (const auto landing = self->parts_.landing.lock()) {
      landing->add(work);
    } else {
      work();  // everything is coming to its end
    }
  };
  try {
    parts_.store->start(range_read(range, buffer), land);
  } catch (...) {
    parts_.memory->end(range.length);
    throw;
  }
  return true;
}

void ShardObject::close() {
  const std::unique_lock lock(looking_);
  closed_ = true;
}

}  // namespace packhorse
