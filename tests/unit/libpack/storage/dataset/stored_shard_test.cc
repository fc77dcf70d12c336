#include "storage/dataset/stored_shard.h"

#include <cstring>
#include <deque>

#include "base/hash.h"
#include "dataset/shard_index.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;

constexpr std::uint64_t kSample = 1000, kSamples = 100, kBytes = kSample * kSamples;

/// A store of one object that answers when the test says so, and may answer with other bytes.
class MadeStore final : public ObjectStore {
 public:
  MadeStore() : content(kBytes) {
    for (std::size_t i = 0; i < kBytes; ++i) content[i] = static_cast<std::byte>(i * 7 % 251);
  }
  const Url& place() const override { return place_; }
  ObjectInfo info(const std::string&) override { return {kBytes, {}}; }
  std::vector<std::byte> read(const std::string&, std::uint64_t) override { return content; }
  void start(const RangeRead& read, std::function<void(std::exception_ptr)> done) override {
    ++requests;
    if (holds) {
      held.push_back({read, std::move(done)});
    } else {
      answer(read, done);
    }
  }
  std::vector<ListedObject> list(const std::string&, std::size_t) override { return {}; }
  StorageCounters counters() const override { return {}; }

  void answer_all() {
    while (!held.empty()) {
      const auto [read, done] = std::move(held.front());
      held.pop_front();
      answer(read, done);
    }
  }

  std::vector<std::byte> content;
  bool holds = false;
  int requests = 0, damages = 0;  ///< answers to come that have a wrong byte
  std::deque<std::pair<RangeRead, std::function<void(std::exception_ptr)>>> held;

 private:
  void answer(const RangeRead& read, const std::function<void(std::exception_ptr)>& done) {
    std::memcpy(read.into.data(), content.data() + read.range.offset, read.range.length);
    if (damages > 0) read.into[read.range.length / 2] ^= std::byte{1};
    damages -= damages > 0 ? 1 : 0;
    done(nullptr);
  }
  const Url place_ = parse_url("https://host/packed");
};

/// A shard of that object, kept in `memory` bytes.
struct MadeShard {
  explicit MadeShard(std::uint64_t memory = 1 << 20) {
    parts = {store, std::make_shared<MemoryBudget>(memory), landing,
             std::make_shared<RemoteEvents>()};
    ShardIndexWriter writer;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      IndexEntry entry;
      entry.range = {i * kSample, kSample};
      entry.hash = xxh3(Bytes(store->content).subspan(i * kSample, kSample));
      entry.image = {ImageKind::kJpeg, 3, 8, 1, 10, 10};
      entry.key = std::to_string(i);
      writer.add(entry);
    }
    put(directory / "index", writer.serialise(kBytes));
    index.emplace(directory / "index");
    shard.emplace(std::make_shared<ShardObject>(parts, "shard.tar", kBytes, *index), nullptr);
  }

  bool shows(std::uint64_t sample) {
    const BytesLease lease = shard->view({sample * kSample, kSample});
    return std::memcmp(lease.bytes.data(), store->content.data() + sample * kSample, kSample) == 0;
  }

  TemporaryDirectory directory;
  std::shared_ptr<MadeStore> store = std::make_shared<MadeStore>();
  std::shared_ptr<Landing> landing = std::make_shared<Landing>();
  RemoteParts parts;
  std::optional<ShardIndex> index;
  std::optional<StoredShard> shard;
};

}  // namespace

TEST_CASE("stored shard: what was asked for ahead is fetched once") {
  MadeShard made;
  made.shard->prefetch({0, 10 * kSample});
  made.shard->prefetch({2 * kSample, kSample});  // lies in it
  for (std::uint64_t sample = 0; sample < 10; ++sample) CHECK(made.shows(sample));
  CHECK(made.store->requests == 1);
  CHECK(made.shows(10));
  CHECK(made.store->requests == 2);
}

TEST_CASE("stored shard: what is on its way ahead is bounded") {
  MadeShard made(10 * kSample);
  made.store->holds = true;
  for (std::uint64_t sample = 0; sample < kSamples; ++sample)
    made.shard->prefetch({sample * kSample, kSample});
  CHECK(made.store->requests == 10);
  made.store->holds = false;
  CHECK(made.shows(50));  // what was not asked for is fetched when it is needed
  made.store->answer_all();
  made.landing.reset();
  CHECK(made.shows(0));
}

TEST_CASE("stored shard: memory holds no more than it may, and what went is fetched again") {
  MadeShard made(10 * kSample);
  for (std::uint64_t sample = 0; sample < 20; ++sample) CHECK(made.shows(sample));
  CHECK(made.store->requests == 20);
  CHECK(made.shows(19));
  CHECK(made.store->requests == 20);
  CHECK(made.shows(0));
  CHECK(made.store->requests == 21);
}

TEST_CASE("stored shard: wrong bytes are fetched once more, and are an error if they stay") {
  MadeShard made;
  made.store->damages = 1;
  CHECK(made.shows(3));
  CHECK(made.parts.events->damaged == 1);
  made.store->damages = 2;
  CHECK(kind_of_error([&] { made.shows(4); }) == ErrorKind::kCorrupt);
  CHECK(made.shows(4));
}

TEST_CASE("stored shard: wrong bytes that were asked for ahead are never shown") {
  MadeShard made;
  made.store->damages = 1;
  made.shard->prefetch({0, 10 * kSample});
  for (std::uint64_t sample = 0; sample < 10; ++sample) CHECK(made.shows(sample));
}

TEST_CASE("stored shard: discarded bytes are fetched anew") {
  MadeShard made;
  CHECK(made.shows(7));
  made.shard->discard({7 * kSample, kSample});
  CHECK(made.shows(7));
  CHECK(made.store->requests == 2);
}

TEST_CASE("stored shard: views stay while they are held, though memory has no room for them") {
  MadeShard made(3 * kSample);
  std::vector<BytesLease> held;
  for (std::uint64_t sample = 0; sample < 20; ++sample)
    held.push_back(made.shard->view({sample * kSample, kSample}));
  made.shard->release();
  made.shard.reset();
  for (std::uint64_t sample = 0; sample < 20; ++sample)
    CHECK(std::memcmp(held[sample].bytes.data(), made.store->content.data() + sample * kSample,
                      kSample) == 0);
}

TEST_CASE("stored shard: it may go while bytes are on their way") {
  MadeShard made;
  made.store->holds = true;
  made.shard->prefetch({0, 10 * kSample});
  made.shard.reset();
  made.index.reset();
  made.store->answer_all();  // nobody looks at the index any more
  made.landing.reset();
  CHECK(made.parts.events->damaged == 0);
}

}  // namespace packhorse
