#include "storage/dataset/object_copy.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>

#include "storage/object_store.h"
#include "support/support.h"

namespace packhorse {

namespace {

constexpr std::size_t kCopied = 40u << 20;  // several ranges

/// A store of one object, which answers the first request at once and the others in threads, a
/// while later.
class SlowStore final : public ObjectStore {
 public:
  ~SlowStore() override {
    for (std::thread& thread : threads_) thread.join();
  }
  const Url& place() const override { return place_; }
  ObjectInfo info(const std::string&) override { return {kCopied, {}}; }
  std::vector<std::byte> read(const std::string&, std::uint64_t) override { return {}; }
  void start(const RangeRead& read, std::function<void(std::exception_ptr)> done) override {
    const auto answer = [this, read, done = std::move(done)] {
      std::memset(read.into.data(), 7, read.into.size());
      ++answered;
      done(nullptr);
    };
    ++started;
    if (read.range.offset == 0) return answer();
    threads_.emplace_back([answer] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      answer();
    });
  }
  std::vector<ListedObject> list(const std::string&, std::size_t) override { return {}; }
  StorageCounters counters() const override { return {}; }

  std::atomic<int> started = 0, answered = 0;

 private:
  const Url place_ = parse_url("https://host/packed");
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE(
    "object copy: what is copied into is left alone once the copy has ended, also by what take "
    "throws") {
  SlowStore store;
  auto into = std::make_unique<std::vector<std::byte>>(kCopied);
  int taken = 0;
  const auto take = [&](Bytes) {
    if (++taken == 2) throw std::runtime_error("the disk is full");
  };
  CHECK_THROWS_WITH(copy_object(store, "x", *into, nullptr, take), "the disk is full");
  CHECK(store.started > 2);
  CHECK(store.answered == store.started);
  into.reset();  // under AddressSanitizer a late answer would be seen
}

TEST_CASE("object copy: all pieces come, in order, each when there is room for it") {
  SlowStore store;
  std::vector<std::byte> into(kCopied);
  std::size_t taken = 0;
  std::uint64_t room = 0;
  copy_object(
      store, "x", into,
      [&](ByteRange range) {
        CHECK(range.offset == room);
        CHECK(static_cast<std::uint64_t>(store.started) * range.length <= range.end());
        room = range.end();
      },
      [&](Bytes piece) {
        CHECK(piece.data() == into.data() + taken);
        taken += piece.size();
      });
  CHECK(taken == kCopied);
  CHECK(room == kCopied);
}

}  // namespace packhorse
