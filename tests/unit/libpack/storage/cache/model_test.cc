#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "cache_place.h"
#include "dataset/shard_layout.h"

namespace packhorse {

namespace {

using test::CachePlace;
using test::Child;
using test::Claim;
using test::kMebi;
using test::open;
using test::Remote;
using test::shows;

enum class Op { kOpen, kClose, kClaim, kWrite, kGiveUp, kForget, kLook, kClear };

struct Command {
  Op op = Op::kLook;
  std::size_t file = 0, run = 0;
};

/// What a run looks like to a worker that has its file open.
enum Look : int { kAbsent, kRight, kWrong };

const std::vector<Remote>& remotes() {
  static const std::vector<Remote> all = {Remote(1),
                                          Remote(2),
                                          Remote(3),
                                          Remote(4, 2 * kMebi),
                                          Remote(5, 3 * kMebi),
                                          Remote(6, kRunBytes + kMebi)};
  return all;
}

/// A process with a cache of its own, which does what it is told and says what came of it.
class Worker {
 public:
  explicit Worker(const CachePlace& place) {
    REQUIRE(::pipe(commands_) == 0);
    REQUIRE(::pipe(replies_) == 0);
    child_.emplace([&] { return serve(place); });
  }
  ~Worker() {
    for (const int fd : {commands_[0], commands_[1], replies_[0], replies_[1]}) ::close(fd);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  int ask(const Command& command) {
    int reply = -1;
    REQUIRE(::write(commands_[1], &command, sizeof command) == sizeof command);
    REQUIRE(::read(replies_[0], &reply, sizeof reply) == sizeof reply);
    return reply;
  }

 private:
  int serve(const CachePlace& place) const {
    RunCache cache = place.cache();
    std::map<std::size_t, std::shared_ptr<CachedFile>> files;
    Command command;
    while (::read(commands_[0], &command, sizeof command) == sizeof command) {
      const int reply = done(cache, files, command);
      if (::write(replies_[1], &reply, sizeof reply) != sizeof reply) return 1;
    }
    return 0;
  }

  static int done(RunCache& cache, std::map<std::size_t, std::shared_ptr<CachedFile>>& files,
                  const Command& command) {
    const Remote& remote = remotes()[command.file];
    if (command.op == Op::kOpen) files[command.file] = open(cache, remote);
    if (command.op == Op::kClose) files.erase(command.file);
    if (command.op == Op::kClear) return static_cast<int>(cache.clear() / 4096);
    if (command.op < Op::kClaim) return 0;
    CachedFile& file = *files.at(command.file);
    const std::size_t run = command.run;
    if (command.op == Op::kGiveUp) file.give_up(run);
    if (command.op == Op::kForget) file.forget(run);
    if (command.op == Op::kLook)
      return !file.has(run) ? kAbsent : shows(file, remote, run) ? kRight : kWrong;
    if (command.op == Op::kWrite) return file.write(run, remote.run(file.range_of(run))) ? 1 : 0;
    if (command.op != Op::kClaim) return 0;
    const Claim said = file.claim(run);
    // Clearing nothing makes it forget that it has searched for space in vain.
    if (said == Claim::kNoSpace) cache.clear(sha256(as_bytes("none")));
    return static_cast<int>(said);
  }

  int commands_[2] = {}, replies_[2] = {};
  std::optional<Child> child_;
};

/// What the cache should be like.
struct Model {
  using Run = std::pair<std::size_t, std::size_t>;  ///< file, run
  std::uint64_t most = 0;
  int clock = 0;
  std::map<std::size_t, int> used;  ///< of the files that are there
  std::set<Run> stored;
  std::map<Run, std::size_t> claims;                     ///< by worker
  std::set<std::pair<std::size_t, std::size_t>> leases;  ///< worker, file

  static std::size_t runs(std::size_t file) {
    return (remotes()[file].bytes.size() + kRunBytes - 1) / kRunBytes;
  }
  static std::uint64_t bytes(Run run) {
    return std::min<std::uint64_t>(kRunBytes,
                                   remotes()[run.first].bytes.size() - run.second * kRunBytes);
  }
  std::uint64_t allocated(std::optional<std::size_t> file = {}) const {
    std::uint64_t sum = 0;
    for (const Run& run : stored)
      if (!file || run.first == *file) sum += bytes(run);
    for (const auto& [run, worker] : claims)
      if (!file || run.first == *file) sum += bytes(run);
    return sum;
  }
  bool is_leased(std::size_t file) const {
    return std::any_of(leases.begin(), leases.end(),
                       [&](const auto& lease) { return lease.second == file; });
  }
  void remove(std::size_t file) {
    used.erase(file);
    std::erase_if(stored, [&](const Run& run) { return run.first == file; });
  }
  Claim claim(std::size_t worker, Run run) {
    if (stored.contains(run)) return Claim::kThere;
    if (claims.contains(run)) return Claim::kOthers;
    std::vector<std::pair<int, std::size_t>> order;
    for (const auto& [file, when] : used) order.emplace_back(when, file);
    std::sort(order.begin(), order.end());
    for (const auto& [when, file] : order) {
      if (allocated() + bytes(run) <= most) break;
      if (!is_leased(file)) remove(file);
    }
    if (allocated() + bytes(run) > most) return Claim::kNoSpace;
    claims[run] = worker;
    return Claim::kMine;
  }
  std::uint64_t clear() {
    const std::uint64_t before = allocated();
    for (std::size_t file = 0; file < remotes().size(); ++file)
      if (!is_leased(file)) remove(file);
    return before - allocated();
  }
  /// The worker closes a file, or has died.
  void leave(std::size_t worker, std::optional<std::size_t> file = {}) {
    std::erase_if(claims, [&](const auto& claim) {
      return claim.second == worker && (!file || claim.first.first == *file);
    });
    std::erase_if(leases, [&](const auto& lease) {
      return lease.first == worker && (!file || lease.second == *file);
    });
  }
};

/// Workers and a model that are given the same random commands.
class Comparison {
 public:
  explicit Comparison(unsigned seed) : random_(seed) {
    model_.most = place_.most;
    for (auto& worker : workers_) {
      worker.emplace(place_);
      worker->ask({Op::kClear});
    }
  }

  void step() {
    const std::size_t worker = below(kWorkers), file = below(remotes().size());
    const std::size_t run = below(Model::runs(file));
    const unsigned choice = below(100);
    if (choice == 0) {
      workers_[worker].reset();  // kills it
      workers_[worker].emplace(place_);
      model_.leave(worker);
    } else if (choice < 3) {
      CHECK(workers_[worker]->ask({Op::kClear}) == static_cast<int>(model_.clear() / 4096));
    } else if (!model_.leases.contains({worker, file})) {
      workers_[worker]->ask({Op::kOpen, file});
      model_.used[file] = ++model_.clock;
      model_.leases.insert({worker, file});
    } else if (choice < 25) {
      workers_[worker]->ask({Op::kClose, file});
      model_.leave(worker, file);
    } else {
      work(worker, {file, run}, choice);
    }
  }

  void compare() {
    const std::vector<CacheEntry> entries = RunCache(place_.path()).entries();
    CHECK(entries.size() == model_.used.size());
    for (const CacheEntry& entry : entries) {
      const auto file = static_cast<std::size_t>(
          std::find_if(remotes().begin(), remotes().end(),
                       [&](const Remote& one) { return one.sha256 == entry.sha256; }) -
          remotes().begin());
      CAPTURE(file);
      CHECK(model_.used.contains(file));
      CHECK(entry.leased == model_.is_leased(file));
      std::uint64_t stored = 0;
      for (const Model::Run& run : model_.stored)
        if (run.first == file) stored += Model::bytes(run);
      CHECK(entry.stored == stored);
    }
  }

 private:
  static constexpr std::size_t kWorkers = 4;

  unsigned below(std::size_t limit) {
    return static_cast<unsigned>(random_() % static_cast<unsigned>(limit));
  }

  /// Does something with a run of a file that the worker has open.
  void work(std::size_t worker, Model::Run run, unsigned choice) {
    Worker& asked = *workers_[worker];
    const auto claim = model_.claims.find(run);
    const bool is_mine = claim != model_.claims.end() && claim->second == worker;
    if (is_mine && choice < 75) {
      CHECK(asked.ask({Op::kWrite, run.first, run.second}) == 1);
      model_.claims.erase(run);
      model_.stored.insert(run);
    } else if (is_mine && choice < 85) {
      asked.ask({Op::kGiveUp, run.first, run.second});
      model_.claims.erase(run);
    } else if (choice < 80) {
      const Claim expected = model_.claim(worker, run);
      CHECK(asked.ask({Op::kClaim, run.first, run.second}) == static_cast<int>(expected));
    } else if (choice < 90) {
      asked.ask({Op::kForget, run.first, run.second});
      model_.stored.erase(run);
    } else {
      const int expected = model_.stored.contains(run) ? kRight : kAbsent;
      CHECK(asked.ask({Op::kLook, run.first, run.second}) == expected);
    }
  }

  CachePlace place_{8};
  std::mt19937 random_;
  Model model_;
  std::optional<Worker> workers_[kWorkers];
};

/// Uses the cache at random, beside others that do, and returns what was wrong.
int use_at_random(const CachePlace& place, unsigned seed) {
  std::mt19937 random(seed);
  RunCache cache = place.cache();
  for (int step = 0; step < 150; ++step) {
    const Remote& remote = remotes()[random() % remotes().size()];
    const auto file = open(cache, remote);
    for (std::size_t run = 0; run < file->runs(); ++run) {
      const Claim said = file->claim(run);
      if (said == Claim::kThere && !shows(*file, remote, run)) return 1;
      if (said == Claim::kOthers && file->wait_for(run, std::chrono::milliseconds(60'000)) &&
          !shows(*file, remote, run))
        return 2;
      if (said != Claim::kMine || random() % 8 == 0) continue;  // or left to be given up
      if (!file->write(run, remote.run(file->range_of(run)))) return 3;
      if (!shows(*file, remote, run)) return 4;
    }
    if (random() % 40 == 0) cache.clear();
    if (random() % 40 == 0 && !cache.verify().empty()) return 5;
  }
  return 0;
}

}  // namespace

TEST_CASE("cache model: processes that are told what to do see what the model says") {
  for (const unsigned seed : {1u, 2u, 3u}) {
    CAPTURE(seed);
    Comparison comparison(seed);
    for (int step = 0; step < 400; ++step) {
      CAPTURE(step);
      comparison.step();
      if (step % 10 == 0) comparison.compare();
    }
    comparison.compare();
  }
}

TEST_CASE("cache model: processes that do what they like see right bytes, within the limit") {
  const CachePlace place(8);
  remotes();
  std::vector<Child> children;
  for (unsigned seed = 0; seed < 5; ++seed)
    children.emplace_back([&, seed] { return use_at_random(place, seed); });
  children.back().kill();
  children.pop_back();
  for (Child& child : children) CHECK(child.wait() == 0);
  RunCache cache = place.cache();
  std::uint64_t stored = 0;
  for (const CacheEntry& entry : cache.entries()) {
    CHECK_FALSE(entry.leased);
    stored += entry.stored;
  }
  CHECK(stored <= place.most);
  CHECK(stored > 0);
  CHECK(cache.verify().empty());
  CHECK(cache.clear() >= stored);  // and what was left of a run that was being written
  CHECK(cache.entries().empty());
}

}  // namespace packhorse
