#include "storage/cache/run_cache.h"

#include <stdlib.h>

#include <atomic>
#include <thread>

#include "cache_place.h"
#include "dataset/dataset_directory.h"
#include "packhorse/storage/remote.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using test::CachePlace;
using test::Claim;
using test::fetch;
using test::kind_of_error;
using test::kMebi;
using test::open;
using test::Remote;
using test::shows;

/// Fetches a file, and closes it.
void keep(RunCache& cache, const Remote& remote) {
  const Claim said = fetch(*open(cache, remote), remote);
  REQUIRE((said == Claim::kMine || said == Claim::kThere));
}

/// The hashes in the cache, in their order.
std::vector<std::string> hashes_in(const RunCache& cache) {
  std::vector<std::string> hashes;
  for (const CacheEntry& entry : cache.entries()) hashes.push_back(entry.sha256);
  return hashes;
}

std::vector<std::string> hashes_of(const std::vector<const Remote*>& remotes) {
  std::vector<std::string> hashes;
  for (const Remote* remote : remotes) hashes.push_back(remote->sha256);
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

/// Sets a variable of the environment, or removes it, until its end.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) const {
    value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, 1);
  }
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("run cache: what is written is there, also for the next to open it") {
  const CachePlace place;
  const Remote remote(1, 2 * kRunBytes + 5000);
  {
    RunCache cache = place.cache();
    const auto file = open(cache, remote);
    CHECK(file->bytes() == remote.bytes.size());
    REQUIRE(file->runs() == 3);
    CHECK(file->range_of(2) == ByteRange{2 * kRunBytes, 5000});
    CHECK_FALSE(file->has(2));
    REQUIRE(file->claim(2) == Claim::kMine);
    CHECK(file->write(2, remote.run(file->range_of(2))));
    CHECK(file->claim(2) == Claim::kThere);
    CHECK(shows(*file, remote, 2));
    CHECK_FALSE(file->has(0));
  }
  RunCache again = place.cache();
  const auto file = open(again, remote);
  CHECK(shows(*file, remote, 2));
  CHECK_FALSE(file->has(1));
  CHECK(fetch(*file, remote) == Claim::kThere);
  CHECK(as_text(file->data().bytes()) == remote.bytes);
}

TEST_CASE("run cache: an empty file has no runs, and is whole") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote nothing(0, 0);
  CHECK(open(cache, nothing)->runs() == 0);
  CHECK(open(cache, nothing)->data().bytes().empty());
  CHECK(cache.verify().empty());
}

TEST_CASE("run cache: only its user can read what it makes") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote remote(1);
  keep(cache, remote);
  for (const fs::path& path :
       {place.path(), place.path() / remote.sha256.substr(0, 2), place.file(remote, ".data"),
        place.file(remote, ".runs"), place.path() / "packhorse-cache.json"}) {
    CAPTURE(path);
    CHECK((fs::status(path).permissions() & fs::perms(077)) == fs::perms::none);
  }
}

TEST_CASE("run cache: of many threads one gets each run, with one file or several") {
  for (const bool share : {true, false}) {
    const CachePlace place;
    RunCache cache = place.cache();
    const Remote remote(1, 5 * kRunBytes);
    const auto shared = open(cache, remote);
    std::atomic<int> mine{0}, wrong{0};
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 6; ++i) {
        threads.emplace_back([&] {
          const auto file = share ? shared : open(cache, remote);
          for (std::size_t run = 0; run < file->runs(); ++run) {
            const Claim said = file->claim(run);
            if (said == Claim::kMine) {
              ++mine;
              if (!file->write(run, remote.run(file->range_of(run)))) ++wrong;
            }
            if (!file->wait_for(run, milliseconds(60'000)) || !shows(*file, remote, run)) ++wrong;
          }
        });
      }
    }
    CHECK(mine == 5);
    CHECK(wrong == 0);
  }
}

TEST_CASE("run cache: a claimed run is others' until it is given up or written") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote remote(1);
  const auto file = open(cache, remote), other = open(cache, remote);
  REQUIRE(file->claim(0) == Claim::kMine);
  CHECK(file->claim(0) == Claim::kOthers);
  CHECK(other->claim(0) == Claim::kOthers);
  CHECK_FALSE(file->wait_for(0, milliseconds(5)));
  CHECK_FALSE(other->wait_for(0, milliseconds(5)));
  other->give_up(0);  // not its own
  CHECK(other->claim(0) == Claim::kOthers);
  file->give_up(0);
  CHECK_FALSE(file->wait_for(0, milliseconds(60'000)));  // nobody is at it: it does not wait
  REQUIRE(other->claim(0) == Claim::kMine);
  CHECK(other->write(0, remote.run(other->range_of(0))));
  CHECK(file->wait_for(0, milliseconds(60'000)));
  CHECK(file->claim(0) == Claim::kThere);
}

TEST_CASE("run cache: a file that is closed gives up what it has claimed") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote remote(1);
  const auto other = open(cache, remote);
  REQUIRE(open(cache, remote)->claim(0) == Claim::kMine);
  CHECK(other->claim(0) == Claim::kMine);
}

TEST_CASE("run cache: who waits is woken when the run is there, or was given up") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote remote(1, 2 * kRunBytes);
  const auto file = open(cache, remote);
  for (std::size_t run = 0; run < 2; ++run) {
    REQUIRE(file->claim(run) == Claim::kMine);
    std::atomic<bool> there{run != 0};
    {
      const std::jthread waiting([&, run] { there = file->wait_for(run, milliseconds(60'000)); });
      if (run == 0) CHECK(file->write(run, remote.run(file->range_of(run))));
      if (run == 1) file->give_up(run);
    }
    CHECK(there == (run == 0));
  }
}

TEST_CASE("run cache: misuse is refused") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote remote(1);
  const auto file = open(cache, remote);
  const auto kind = [](const auto& work) { return kind_of_error(work); };
  CHECK(kind([&] { file->write(0, remote.run({0, kMebi})); }) == ErrorKind::kUsage);
  REQUIRE(file->claim(0) == Claim::kMine);
  CHECK(kind([&] { file->write(0, remote.run({0, kMebi - 1})); }) == ErrorKind::kUsage);
  CHECK(file->write(0, remote.run({0, kMebi})));
  CHECK(kind([&] { file->claim(1); }) == ErrorKind::kUsage);
  CHECK(kind([&] { static_cast<void>(file->has(1)); }) == ErrorKind::kUsage);
  CHECK(kind([&] { cache.open("../../etc/passwd", 1); }) == ErrorKind::kUsage);
  CHECK(kind([&] { cache.open(std::string(64, 'A'), 1); }) == ErrorKind::kUsage);
  CHECK(kind([&] { cache.clear("ab"); }) == ErrorKind::kUsage);
  CHECK(kind([&] { cache.open(remote.sha256, ~std::uint64_t{0}); }) == ErrorKind::kUnsupported);
  CHECK(kind([&] { RunCache(place.path(), kRunBytes - 1); }) == ErrorKind::kUsage);
  CHECK(kind([&] { RunCache("s3://bucket/cache", place.most); }) == ErrorKind::kUsage);
}

TEST_CASE("run cache: a forgotten run is absent, and its space is free") {
  const CachePlace place(4);
  RunCache cache = place.cache();
  const Remote remote(1, 4 * kMebi), other(2, 4 * kMebi);
  const auto file = open(cache, remote), wants = open(cache, other);
  fetch(*file, remote);
  REQUIRE(wants->claim(0) == Claim::kNoSpace);
  file->forget(0);
  CHECK_FALSE(file->has(0));
  CHECK(cache.entries()[0].stored + cache.entries()[1].stored == 0);
  CHECK(read_text(place.file(remote, ".data")) ==
        std::string(4 * kMebi, '\0'));  // not mapped: in memory that takes the space
  CHECK(fetch(*wants, other) == Claim::kMine);
  CHECK(file->claim(0) == Claim::kNoSpace);
  wants->forget(0);
  wants->forget(0);
  CHECK(fetch(*file, remote) == Claim::kMine);
  CHECK(shows(*file, remote, 0));
}

TEST_CASE("run cache: those opened least recently are evicted, as many as must be") {
  const CachePlace place(5);
  RunCache cache = place.cache();
  const Remote a(1), b(2), c(3), d(4), large(5, 3 * kMebi);
  for (const Remote* one : {&a, &b, &c, &d}) keep(cache, *one);
  open(cache, a);
  CHECK(hashes_in(cache) == hashes_of({&a, &b, &c, &d}));
  keep(cache, large);
  CHECK(hashes_in(cache) == hashes_of({&d, &a, &large}));
  CHECK_FALSE(fs::exists(place.file(b, ".data")));
  CHECK_FALSE(fs::exists(place.file(b, ".runs")));
}

TEST_CASE("run cache: what is open stays, and when it fills the cache there is no space") {
  const CachePlace place(4);
  RunCache cache = place.cache();
  const Remote a(1, 2 * kMebi), b(2, 2 * kMebi), c(3, 2 * kMebi);
  auto first = open(cache, a);
  fetch(*first, a);
  keep(cache, b);
  const auto third = open(cache, c);
  CHECK(fetch(*third, c) == Claim::kMine);  // in b's place, although a was opened before
  CHECK(hashes_in(cache) == hashes_of({&a, &c}));
  const auto second = open(cache, b);
  CHECK(second->claim(0) == Claim::kNoSpace);
  CHECK(second->claim(0) == Claim::kNoSpace);
  CHECK(shows(*first, a, 0));
  first.reset();
  CHECK(fetch(*second, b) == Claim::kMine);
  CHECK(hashes_in(cache) == hashes_of({&b, &c}));
}

TEST_CASE("run cache: claims count as stored, until they are given up") {
  const CachePlace place(4);
  RunCache cache = place.cache();
  const Remote a(1, 4 * kMebi), b(2);
  const auto first = open(cache, a), second = open(cache, b);
  REQUIRE(first->claim(0) == Claim::kMine);
  CHECK(second->claim(0) == Claim::kNoSpace);
  first->give_up(0);
  CHECK(second->claim(0) == Claim::kMine);
}

TEST_CASE("run cache: the last one to open it decides how much it holds") {
  CachePlace place(8);
  RunCache cache = place.cache();
  const Remote a(1, 3 * kMebi), b(2, 3 * kMebi);
  keep(cache, a);
  keep(cache, b);
  place.most = 5 * kMebi;
  CHECK(hashes_in(place.cache()) == hashes_of({&b}));
  CHECK(RunCache(place.path()).most() == 5 * kMebi);
  keep(cache, a);
  CHECK(hashes_in(cache) == hashes_of({&a}));
}

TEST_CASE("run cache: entries say what is there") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote a(1, kRunBytes + 5000), b(2);
  const auto file = open(cache, a);
  REQUIRE(file->claim(1) == Claim::kMine);
  REQUIRE(file->write(1, a.run(file->range_of(1))));
  keep(cache, b);
  const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
  for (const CacheEntry& entry : cache.entries()) {
    const bool is_a = entry.sha256 == a.sha256;
    CHECK(entry.bytes == (is_a ? a : b).bytes.size());
    CHECK(entry.stored == (is_a ? 5000 : kMebi));
    CHECK(entry.leased == is_a);
    CHECK(entry.used <= now);
    CHECK(entry.used > now - 600);
  }
  CHECK(cache.entries().size() == 2);
}

TEST_CASE("run cache: clear removes what nobody has open") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote a(1), b(2), c(3);
  const auto file = open(cache, a);
  for (const Remote* one : {&a, &b, &c}) keep(cache, *one);
  CHECK(cache.clear(a.sha256) == 0);
  CHECK(cache.clear(sha256(as_bytes("none"))) == 0);
  CHECK(cache.clear(b.sha256) == kMebi);
  CHECK(hashes_in(cache) == hashes_of({&a, &c}));
  CHECK(cache.clear() == kMebi);
  CHECK(hashes_in(cache) == hashes_of({&a}));
  CHECK(shows(*file, a, 0));
}

TEST_CASE("run cache: verify forgets what is not as its hash says, and only that") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote good(1), bad(2, kRunBytes + 100), partial(3, 2 * kRunBytes);
  keep(cache, good);
  keep(cache, bad);
  const auto file = open(cache, partial);
  REQUIRE(file->claim(0) == Claim::kMine);
  REQUIRE(file->write(0, partial.run(file->range_of(0))));
  CHECK(cache.verify().empty());
  test::flip_byte(place.file(bad, ".data"), kRunBytes + 50);
  test::flip_byte(place.file(partial, ".data"), 50);
  CHECK(cache.verify() == hashes_of({&bad}));
  CHECK(cache.verify().empty());
  const auto mended = open(cache, bad);
  CHECK_FALSE(mended->has(0));
  CHECK_FALSE(mended->has(1));
  CHECK(open(cache, good)->has(0));
  CHECK(file->has(0));
  std::stop_source stop;
  stop.request_stop();
  CHECK(kind_of_error([&] { cache.verify(stop.get_token()); }) == ErrorKind::kInterrupted);
}

TEST_CASE("run cache: one that is there can be opened without a limit, one that is not cannot") {
  const CachePlace place;
  CHECK(kind_of_error([&] { RunCache(place.path()); }) == ErrorKind::kNotFound);
  CHECK_FALSE(fs::exists(place.path()));
  fs::create_directory(place.path());
  CHECK(kind_of_error([&] { RunCache(place.path()); }) == ErrorKind::kNotFound);
  CHECK(fs::is_empty(place.path()));
  CHECK(place.cache().most() == place.most);
  CHECK(RunCache(place.path()).most() == place.most);
  CHECK(RunCache(place.path() / "").directory() == place.path());
}

TEST_CASE("run cache: data that was opened once more stays, whatever becomes of its file") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote remote(1);
  keep(cache, remote);
  const UniqueFd before = open(cache, remote)->open_data();
  test::flip_byte(place.file(remote, ".runs"), 0);
  CHECK_FALSE(open(cache, remote)->has(0));  // made anew
  keep(cache, remote);
  const UniqueFd after = open(cache, remote)->open_data();
  CHECK(cache.clear() == kMebi);
  CHECK(sha256_file(before.get(), "before") == remote.sha256);
  CHECK(sha256_file(after.get(), "after") == remote.sha256);
}

TEST_CASE("run cache: what is open outlives the directory, and nothing more is stored") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote remote(1, 2 * kRunBytes);
  const auto file = open(cache, remote);
  REQUIRE(file->claim(0) == Claim::kMine);
  REQUIRE(file->write(0, remote.run(file->range_of(0))));
  fs::remove_all(place.path());
  CHECK(shows(*file, remote, 0));
  CHECK(file->claim(1) == Claim::kNoSpace);
  CHECK(kind_of_error([&] { file->open_data(); }) == ErrorKind::kIo);
  file->forget(0);
  CHECK(cache.entries().empty());
  CHECK(cache.clear() == 0);
}

TEST_CASE("run cache: the default directory is where caches are") {
  const Variable home("HOME", "/home/somebody"), none("XDG_CACHE_HOME", nullptr);
  CHECK(default_cache_directory() == "/home/somebody/.cache/packhorse");
  {
    const Variable caches("XDG_CACHE_HOME", "/var/caches");
    CHECK(default_cache_directory() == "/var/caches/packhorse");
  }
  const Variable relative("XDG_CACHE_HOME", "caches");
  CHECK(default_cache_directory() == "/home/somebody/.cache/packhorse");
  const Variable homeless("HOME", nullptr);
  CHECK(default_cache_directory().empty());
}

}  // namespace packhorse
