#include "packing/read_ahead.h"

#include <algorithm>
#include <atomic>
#include <latch>

#include "support/support.h"

namespace packhorse {

namespace {

/// Records what is requested; `slow` says whether it lies on slow storage.
class Asked final : public Source {
 public:
  Asked(bool slow, std::size_t expected)
      : done(static_cast<std::ptrdiff_t>(expected)), slow_(slow), expected_(expected) {}
  Listing list(const ListOptions&) override { return {}; }
  void read(const SplitListing&, std::size_t, Input&) const override {}
  bool prefetch(const SplitListing& split, std::size_t i) const override {
    const std::scoped_lock lock(mutex_);
    locators.push_back(split.entries.facts(i).locator);
    if (locators.size() <= expected_) done.count_down();
    return slow_;
  }
  mutable std::vector<std::uint64_t> locators;
  mutable std::latch done;

 private:
  bool slow_;
  std::size_t expected_;
  mutable std::mutex mutex_;
};

/// Entries whose locators are (i * 7) mod n, so that the storage's order is not the table's.
std::shared_ptr<const SplitListing> entries(std::size_t n) {
  auto split = std::make_shared<SplitListing>();
  for (std::size_t i = 0; i < n; ++i)
    split->entries.add("c", std::to_string(i), {.locator = i * 7 % n});
  return split;
}

std::vector<std::size_t> all_of(const SplitListing& split) {
  std::vector<std::size_t> all(split.entries.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

}  // namespace

TEST_CASE("read ahead: of slow storage everything is asked for, each once") {
  const auto split = entries(1000);
  const Asked source(true, 1000);
  {
    ReadAhead ahead(source);
    ahead.want(split, all_of(*split));
    source.done.wait();
  }
  std::sort(source.locators.begin(), source.locators.end());
  REQUIRE(source.locators.size() == 1000);
  for (std::size_t i = 0; i < 1000; ++i) CHECK(source.locators[i] == i);
}

TEST_CASE("read ahead: of fast storage a few are tried, in the order of the storage") {
  const auto split = entries(1000);
  const Asked source(false, 64);
  {
    ReadAhead ahead(source);
    ahead.want(split, all_of(*split));
    ahead.want(split, all_of(*split));
    source.done.wait();
  }
  REQUIRE(source.locators.size() == 64);
  std::sort(source.locators.begin(), source.locators.end());
  CHECK(source.locators.front() == 0);
  CHECK(source.locators.back() == 31);
}

TEST_CASE("read ahead: once stopped, nothing is asked for but what was begun") {
  /// Blocks whoever asks until the gate is open.
  struct Gated final : Source {
    Listing list(const ListOptions&) override { return {}; }
    void read(const SplitListing&, std::size_t, Input&) const override {}
    bool prefetch(const SplitListing&, std::size_t) const override {
      ++asked;
      begun.test_and_set();
      begun.notify_one();
      gate.wait(false);
      return true;
    }
    mutable std::atomic<std::size_t> asked{0};
    mutable std::atomic_flag begun, gate;
  };
  const auto split = entries(100'000);
  const Gated source;
  {
    ReadAhead ahead(source);
    ahead.want(split, all_of(*split));
    source.begun.wait(false);
    ahead.stop();
    source.gate.test_and_set();
    source.gate.notify_all();
  }
  CHECK(source.asked >= 1);
  CHECK(source.asked <= 32);  // the piece that one thread had taken
}

TEST_CASE("read ahead: ends when nothing was wanted") {
  const Asked source(true, 1);
  const auto split = entries(100);
  ReadAhead ahead(source);
  ahead.want(split, {});
  ahead.stop();
  CHECK(source.locators.empty());
}

}  // namespace packhorse
