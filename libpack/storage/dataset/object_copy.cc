#include "storage/dataset/object_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "packhorse/base/error.h"
#include "storage/under_way.h"

namespace packhorse {

namespace {

constexpr std::size_t kRangeBytes = 8u << 20;
constexpr std::size_t kMostUnderWay = 16;

/// What requests that end need, also after the copy.
struct Arrivals {
  explicit Arrivals(std::size_t ranges) : there(ranges) {}
  UnderWay under_way;
  std::vector<std::atomic<bool>> there;  ///< by range
};

class ObjectCopy {
 public:
  ObjectCopy(ObjectStore& store, const std::string& name, ObjectInfo info,
             std::span<std::byte> into, const RoomMaker& make_room)
      : store_(store),
        name_(name),
        info_(std::move(info)),
        into_(into),
        make_room_(make_room),
        ranges_((into.size() + kRangeBytes - 1) / kRangeBytes),
        arrivals_(std::make_shared<Arrivals>(ranges_)) {}

  void run(const std::function<void(Bytes)>& take) {
    const std::stop_token stop = current_stop();
    UnderWay& under_way = arrivals_->under_way;
    // Whatever ends this, also what `take` throws: requests write into `into_` until they are over.
    const struct AllOver {
      UnderWay& requests;
      ~AllOver() { requests.wait_for(0); }
    } all_over{under_way};
    for (std::size_t range = 0; range < ranges_; ++range) {
      if (stop.stop_requested() || !under_way.wait_for(kMostUnderWay - 1)) break;
      start(range);
      take_arrived(take);
    }
    for (std::size_t left = kMostUnderWay; left-- > 0 && under_way.wait_for(left);)
      take_arrived(take);
    under_way.wait_for(0);
    obey_stop();
    under_way.finish();
    take_arrived(take);
  }

 private:
  std::span<std::byte> piece(std::size_t range) const {
    const std::size_t begin = range * kRangeBytes;
    return into_.subspan(begin, std::min(kRangeBytes, into_.size() - begin));
  }

  void start(std::size_t range) {
    RangeRead read;
    read.name = name_;
    read.into = piece(range);
    read.range = {range * kRangeBytes, read.into.size()};
    read.of_bytes = info_.bytes;
    read.tag = info_.tag;
    if (make_room_) make_room_(read.range);
    arrivals_->under_way.begin();
    try {
      store_.start(read, [arrivals = arrivals_, range](std::exception_ptr error) {
        arrivals->there[range] = error == nullptr;
        arrivals->under_way.end(std::move(error));
      });
    } catch (...) {
      arrivals_->under_way.end(std::current_exception());
    }
  }

  void take_arrived(const std::function<void(Bytes)>& take) {
    for (; taken_ < ranges_ && arrivals_->there[taken_]; ++taken_)
      if (take) take(piece(taken_));
  }

  ObjectStore& store_;
  const std::string& name_;
  const ObjectInfo info_;
  const std::span<std::byte> into_;
  const RoomMaker& make_room_;
  const std::size_t ranges_;
  const std::shared_ptr<Arrivals> arrivals_;
  std::size_t taken_ = 0;
};

}  // namespace

void copy_object(ObjectStore& store, const std::string& name, std::span<std::byte> into,
                 const RoomMaker& make_room, const std::function<void(Bytes)>& take) {
  obey_stop();
  ObjectInfo info = store.info(name);
  if (info.bytes != into.size()) {
    throw Error(
        ErrorKind::kCorrupt,
        fmt::format("the object had {} bytes before, and has {} now", into.size(), info.bytes),
        store.place().below(name).shown(), "try again when nobody writes there");
  }
  ObjectCopy(store, name, std::move(info), into, make_room).run(take);
}

std::vector<std::byte> read_in_pieces(ObjectStore& store, const std::string& name, ByteRange range,
                                      std::uint64_t of_bytes, const std::string& tag) {
  if (range.length > kMostInMemory) {
    throw Error(ErrorKind::kRejected,
                "it is said to have " + std::to_string(range.length) +
                    " bytes, and no file of a sample has more than 4 GiB",
                store.place().below(name).shown(), "do not trust this storage");
  }
  std::vector<std::byte> content;
  while (content.size() < range.length) {
    const std::uint64_t at = content.size();
    const std::uint64_t bytes = std::min(range.length - at, kPieceInMemory);
    content.resize(at + bytes);
    store.read_range({.name = name,
                      .range = {range.offset + at, bytes},
                      .of_bytes = of_bytes,
                      .tag = tag,
                      .into = std::span(content).subspan(at)});
  }
  return content;
}

}  // namespace packhorse
