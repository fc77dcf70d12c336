#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "base/process.h"
#include "cache_place.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using test::CachePlace;
using test::Child;
using test::Claim;
using test::fetch;
using test::kMebi;
using test::open;
using test::Remote;
using test::shows;
using test::Signs;

constexpr milliseconds kLong{60'000};

/// A child that does `work` with a cache of its own, gives a sign, and then lives until it is
/// killed.
Child busy(const CachePlace& place, const Signs& ready,
           const std::function<void(RunCache&)>& work) {
  return Child([&] {
    RunCache cache = place.cache();
    work(cache);
    ready.give();
    ::pause();
    return 0;
  });
}

}  // namespace

TEST_CASE("cache processes: a claim is others' for all processes, and ends with its own") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote remote(1, 2 * kRunBytes);
  const auto file = open(cache, remote);
  const Signs ready, done;
  Child child([&] {
    RunCache own = place.cache();
    const auto theirs = open(own, remote);
    if (theirs->claim(0) != Claim::kMine) return 1;
    ready.give();
    done.await();
    return 0;
  });
  ready.await();
  CHECK(file->claim(0) == Claim::kOthers);
  CHECK_FALSE(file->wait_for(0, milliseconds(5)));
  CHECK(file->claim(1) == Claim::kMine);
  done.give();
  CHECK(child.wait() == 0);
  CHECK_FALSE(file->wait_for(0, kLong));
  CHECK(file->claim(0) == Claim::kMine);
}

TEST_CASE("cache processes: who is killed has no claim and no lease any more") {
  const CachePlace place(4);
  RunCache cache = place.cache();
  const Remote a(1, 2 * kMebi), b(2, 4 * kMebi);
  const Signs ready;
  std::shared_ptr<CachedFile> theirs;  // in the child
  Child child = busy(place, ready, [&](RunCache& own) {
    theirs = open(own, a);
    theirs->claim(0);
  });
  ready.await();
  const auto file = open(cache, b);
  CHECK(file->claim(0) == Claim::kNoSpace);
  CHECK(cache.clear() == 0);
  CHECK(child.kill() == -SIGKILL);
  CHECK(open(cache, a)->claim(0) == Claim::kMine);
  for (int tries = 0; tries < 1000; ++tries) {
    if (file->claim(0) == Claim::kMine) break;  // the last search in vain is still remembered
    std::this_thread::sleep_for(milliseconds(5));
  }
  CHECK(file->write(0, b.run({0, 4 * kMebi})));
  CHECK(fetch(*file, b) == Claim::kThere);
}

TEST_CASE("cache processes: killed in the middle of a write, a run is whole or absent") {
  const CachePlace place;
  RunCache cache = place.cache();
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    const Remote remote(static_cast<std::uint64_t>(round), 3 * kRunBytes);
    const Signs ready;
    Child child([&] {
      RunCache own = place.cache();
      const auto file = open(own, remote);
      ready.give();
      fetch(*file, remote);
      return 0;
    });
    ready.await();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
    child.kill();
    const auto file = open(cache, remote);
    for (std::size_t run = 0; run < file->runs(); ++run) {
      if (file->has(run)) {
        CHECK(shows(*file, remote, run));
      } else {
        CHECK(file->claim(run) == Claim::kMine);
        CHECK(file->write(run, remote.run(file->range_of(run))));
        CHECK(shows(*file, remote, run));
      }
    }
  }
}

TEST_CASE("cache processes: each run is fetched once, and all see it") {
  const CachePlace place;
  const Remote remote(1, 5 * kRunBytes + 100);
  place.cache();
  std::vector<Child> children;
  for (int i = 0; i < 6; ++i) {
    children.emplace_back([&] {
      RunCache cache = place.cache();
      const auto file = open(cache, remote);
      int mine = 0;
      for (std::size_t run = 0; run < file->runs(); ++run) {
        const Claim said = file->claim(run);
        if (said == Claim::kMine && !file->write(run, remote.run(file->range_of(run)))) return 90;
        mine += said == Claim::kMine ? 1 : 0;
        if (!file->wait_for(run, kLong) || !shows(*file, remote, run)) return 91;
      }
      return mine;
    });
  }
  int mine = 0;
  for (Child& child : children) mine += child.wait();
  CHECK(mine == 6);
}

TEST_CASE("cache processes: a forked child's claims are its own") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote remote(1, 4 * kRunBytes);
  const auto file = open(cache, remote);
  REQUIRE(file->claim(0) == Claim::kMine);
  const Signs ready, done;
  Child child([&] {
    if (file->claim(0) != Claim::kOthers) return 1;
    file->give_up(0);  // not its own
    if (file->claim(1) != Claim::kMine || file->claim(2) != Claim::kMine) return 2;
    if (!file->write(1, remote.run(file->range_of(1)))) return 3;
    ready.give();
    done.await();
    return 0;
  });
  ready.await();
  CHECK(shows(*file, remote, 1));
  CHECK(file->claim(2) == Claim::kOthers);
  done.give();
  CHECK(child.wait() == 0);
  CHECK(file->claim(2) == Claim::kMine);
  CHECK(open(cache, remote)->claim(0) == Claim::kOthers);  // still its parent's
  CHECK(file->write(0, remote.run(file->range_of(0))));
}

TEST_CASE("cache processes: a forked child that closes a file takes nothing from its parent") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote remote(1, 2 * kRunBytes);
  auto file = open(cache, remote);
  REQUIRE(file->claim(0) == Claim::kMine);
  for (const bool used : {false, true}) {
    Child child([&] {
      if (used && file->claim(1) != Claim::kMine) return 1;
      file.reset();
      return 0;
    });
    CHECK(child.wait() == 0);
    CHECK(cache.entries()[0].leased);
    CHECK(open(cache, remote)->claim(0) == Claim::kOthers);
    CHECK(file->claim(1) == Claim::kMine);
    file->give_up(1);
  }
}

TEST_CASE("cache processes: what a forked child has open stays, also without its parent's lease") {
  const CachePlace place;
  RunCache cache = place.cache();
  const Remote remote(1);
  auto file = open(cache, remote);
  fetch(*file, remote);
  const Signs ready, done;
  Child child([&] {
    ready.give();
    done.await();
    return shows(*file, remote, 0) ? 0 : 1;
  });
  ready.await();
  file.reset();
  CHECK(cache.clear() == 0);
  done.give();
  CHECK(child.wait() == 0);
  CHECK(cache.clear() == kMebi);
}

TEST_CASE("cache processes: a disk that is full ends the claim, and is no error") {
  const CachePlace place;
  const Remote remote(1, 3 * kRunBytes);
  Child child([&] {
    RunCache cache = place.cache();
    const auto file = open(cache, remote), other = open(cache, remote);
    ignore_write_signals();
    const rlimit limit{kRunBytes + kMebi, kRunBytes + kMebi};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    if (file->claim(0) != Claim::kMine || !file->write(0, remote.run(file->range_of(0)))) return 2;
    if (file->claim(1) != Claim::kMine || file->write(1, remote.run(file->range_of(1)))) return 3;
    if (file->has(1) || file->wait_for(1, kLong)) return 4;
    if (other->claim(1) != Claim::kMine) return 5;
    if (!shows(*file, remote, 0)) return 6;
    return 0;
  });
  CHECK(child.wait() == 0);
  RunCache cache = place.cache();
  REQUIRE(cache.entries().size() == 1);
  CHECK(cache.entries()[0].stored == kRunBytes);
  CHECK(cache.clear() == kRunBytes);  // nothing is left of the run that was cut
}

TEST_CASE("cache processes: an open file takes one descriptor") {
  const CachePlace place;
  Child child([&] {
    RunCache cache = place.cache();
    const rlimit limit{64, 64};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    std::vector<std::shared_ptr<CachedFile>> files;
    for (std::uint64_t number = 0; number < 40; ++number) {
      const Remote remote(number, 5000);
      files.push_back(open(cache, remote));
      if (fetch(*files.back(), remote) != Claim::kMine) return 2;
    }
    return 0;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("cache processes: one that makes the cache may be killed at any time") {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const CachePlace place;
    const Remote remote(1, 20'000);
    Child child([&] {
      RunCache cache = place.cache();
      fetch(*open(cache, remote), remote);
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    child.kill();
    RunCache cache = place.cache();
    const auto file = open(cache, remote);
    fetch(*file, remote);
    CHECK(shows(*file, remote, 0));
  }
}

TEST_CASE("cache processes: several make the cache and the same file at once") {
  for (int round = 0; round < 10; ++round) {
    const CachePlace place;
    const Remote remote(1, 20'000);
    std::vector<Child> children;
    for (int i = 0; i < 6; ++i) {
      children.emplace_back([&] {
        RunCache cache = place.cache();
        const auto file = open(cache, remote);
        fetch(*file, remote);
        return file->wait_for(0, kLong) && shows(*file, remote, 0) ? 0 : 1;
      });
    }
    for (Child& child : children) CHECK(child.wait() == 0);
  }
}

}  // namespace packhorse
