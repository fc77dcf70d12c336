#include <stdexcept>

#include "packhorse/base/error.h"
#include "storage/dataset/object_copy.h"
#include "support/support.h"

namespace packhorse {

namespace {

constexpr std::uint64_t kMost = std::uint64_t{4} << 30;

/// A store that notes what it is asked for, and has nothing.
class EmptyStore final : public ObjectStore {
 public:
  const Url& place() const override { return place_; }
  ObjectInfo info(const std::string&) override { return {}; }
  std::vector<std::byte> read(const std::string&, std::uint64_t) override { return {}; }
  void start(const RangeRead& read, std::function<void(std::exception_ptr)> done) override {
    asked += read.range.length;
    done(std::make_exception_ptr(Error(ErrorKind::kIo, "there is nothing")));
  }
  std::vector<ListedObject> list(const std::string&, std::size_t) override { return {}; }
  StorageCounters counters() const override { return {}; }

  std::uint64_t asked = 0;

 private:
  const Url place_ = parse_url("https://host/packed");
};

}  // namespace

TEST_CASE("object pieces: 4 GiB are read, a piece after the other, and a byte more is refused") {
  EmptyStore store;
  const auto kind = [&](std::uint64_t offset, std::uint64_t bytes) {
    store.asked = 0;
    return test::kind_of_error([&] { read_in_pieces(store, "x", {offset, bytes}, ~0ull, {}); });
  };
  CHECK(kind(0, kMost) == ErrorKind::kIo);
  CHECK(store.asked == kPieceInMemory);
  CHECK(kind(kMost, kMost) == ErrorKind::kIo);
  CHECK(kind(0, kMost + 1) == ErrorKind::kRejected);
  CHECK(store.asked == 0);
  CHECK(kind(0, ~std::uint64_t{0}) == ErrorKind::kRejected);
  CHECK(store.asked == 0);
}

}  // namespace packhorse
