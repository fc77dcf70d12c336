#include "order/order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "unit/reader/fixtures.h"
#include "unit/reader/order/samples.h"

namespace packhorse::reader::test {

namespace {

Samples samples_of(const Order& order) {
  Samples samples;
  for (std::uint64_t step = 0; step < order.steps(); ++step) {
    for (std::int64_t place = 0; place < order.batch_size(step); ++place) {
      samples.push_back(order.sample(step, place));
    }
  }
  return samples;
}

/// All ranks' samples, in any order.
Samples samples_of_world(std::uint64_t n, OrderOptions options) {
  Samples all;
  for (options.rank = 0; options.rank < options.world; ++options.rank) {
    const Samples one = samples_of(Order(n, options));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

}  // namespace

TEST_CASE("order: names lead to kinds and back, and others are refused") {
  for (const OrderKind kind :
       {OrderKind::kGlobal, OrderKind::kWindow, OrderKind::kWindowFirst, OrderKind::kSequential})
    CHECK(parse_order(name_of(kind)) == kind);
  CHECK_THROWS_WITH_AS(parse_order("windows"), "there is no order 'windows'", Error);
}

TEST_CASE("order: window-first is by windows in epoch 0 and global in the others") {
  const auto dataset = make_dataset(200);
  OrderOptions options{
      .runs = std::make_shared<Runs>(*dataset, 5'000), .runs_per_window = 2, .seed = 3};
  for (const std::uint64_t epoch : {0u, 1u, 7u}) {
    options.epoch = epoch;
    options.kind = epoch == 0 ? OrderKind::kWindow : OrderKind::kGlobal;
    const Samples expected = samples_of(Order(200, options));
    options.kind = OrderKind::kWindowFirst;
    const Order order(200, options);
    CHECK(samples_of(order) == expected);
    CHECK(order.window_end(0).has_value() == (epoch == 0));
  }
  options.runs = nullptr;
  static_cast<void>(Order(200, options));  // no windows in epoch 7
  options.epoch = 0;
  CHECK_THROWS_AS(Order(200, options), Error);
}

TEST_CASE("order: every sample comes exactly once an epoch at any world size") {
  for (const OrderKind kind : {OrderKind::kGlobal, OrderKind::kSequential}) {
    for (std::int64_t world : {1, 2, 3, 8}) {
      const std::uint64_t n = 8 * 3 * 5 * 4;
      CHECK(sorted(samples_of_world(n, {.kind = kind, .world = world, .batch_size = 5})) ==
            up_to(n));
    }
  }
}

TEST_CASE("order: kDrop leaves out less than a global batch and repeats nothing") {
  const Samples all = samples_of_world(1003, {.world = 3, .batch_size = 7});
  CHECK(all.size() == 1003 / 21 * 21);
  CHECK(std::set(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("order: kPad covers everything and fills up from the start of the epoch's order") {
  const OrderOptions options{.world = 3, .batch_size = 7, .tail = Tail::kPad};
  const Samples all = samples_of_world(1003, options);
  CHECK(all.size() == 48 * 21);
  CHECK(std::set(all.begin(), all.end()).size() == 1003);
  const Order one(1003, {});
  const Order last(1003, {.rank = 2, .world = 3, .batch_size = 7, .tail = Tail::kPad});
  CHECK(last.sample(47, 6) == one.sample(48 * 21 - 1 - 1003, 0));
}

TEST_CASE("order: kPad fills a batch larger than the dataset") {
  const Samples all = samples_of(Order(3, {.batch_size = 8, .tail = Tail::kPad}));
  CHECK(all.size() == 8);
  CHECK(Samples(all.begin(), all.begin() + 3) == Samples(all.begin() + 3, all.begin() + 6));
}

TEST_CASE("order: kKeep delivers a short last batch") {
  const Order order(10, {.batch_size = 4, .tail = Tail::kKeep});
  CHECK(order.steps() == 3);
  CHECK(order.batch_size(1) == 4);
  CHECK(order.batch_size(2) == 2);
  CHECK(order.size() == 10);
  CHECK(sorted(samples_of(order)) == up_to(10));
  CHECK(Order(8, {.batch_size = 4, .tail = Tail::kKeep}).batch_size(1) == 4);
}

TEST_CASE("order: all ranks make the same number of steps") {
  for (Tail tail : {Tail::kDrop, Tail::kPad}) {
    for (std::int64_t rank = 0; rank < 5; ++rank) {
      const Order order(999, {.rank = rank, .world = 5, .batch_size = 4, .tail = tail});
      CHECK(order.steps() == (tail == Tail::kDrop ? 49 : 50));
      CHECK(order.size() == order.steps() * 4);
    }
  }
}

TEST_CASE("order: what is in global batch g does not depend on the world size") {
  const auto global_batch = [](std::int64_t world, std::int64_t batch_size, std::uint64_t g) {
    Samples all;
    for (std::int64_t rank = 0; rank < world; ++rank) {
      const Order order(5000, {.epoch = 2, .rank = rank, .world = world, .batch_size = batch_size});
      for (std::int64_t place = 0; place < batch_size; ++place)
        all.push_back(order.sample(g, place));
    }
    return sorted(all);
  };
  for (std::uint64_t g : {0u, 7u, 77u}) {
    CHECK(global_batch(1, 24, g) == global_batch(2, 12, g));
    CHECK(global_batch(1, 24, g) == global_batch(8, 3, g));
  }
}

TEST_CASE("order: a billion samples and more, at any place, without the places before it") {
  for (const std::uint64_t samples : {std::uint64_t{1'000'000'007}, std::uint64_t{1} << 41}) {
    OrderOptions options{.seed = 3, .epoch = 9, .world = 1024, .batch_size = 32};
    std::set<std::uint64_t> seen;
    const std::uint64_t global = 1024 * 32, steps = samples / global;
    for (const std::uint64_t step : {std::uint64_t{0}, steps / 2, steps - 1}) {
      std::set<std::uint64_t> here;
      for (std::int64_t rank = 0; rank < 1024; ++rank) {
        options.rank = rank;
        const Order order(samples, options);
        CHECK(order.steps() == steps);
        for (std::int64_t place = 0; place < 32; ++place) here.insert(order.sample(step, place));
      }
      CHECK(here.size() == global);
      CHECK(*here.rbegin() < samples);
      seen.insert(here.begin(), here.end());
      // At another world size, from where the run was stopped, the same samples come.
      OrderOptions other{.seed = 3, .epoch = 9, .batch_size = 32};
      other.done = step * global;
      const Order rest(samples, other);
      for (std::uint64_t i = 0; i < 32; ++i) CHECK(here.contains(rest.sample(i)));
      CHECK(rest.done_after(1) == step * global + 32);
    }
    CHECK(seen.size() == 3 * global);
  }
}

TEST_CASE("order: resuming at another world size sees exactly the rest") {
  const std::uint64_t n = 2008, steps = 17;  // the rest is whole global batches at each size
  const OrderOptions before{.seed = 3, .epoch = 4, .world = 4, .batch_size = 6};
  Samples all;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    OrderOptions options = before;
    options.rank = rank;
    const Samples own = samples_of(Order(n, options));
    all.insert(all.end(), own.begin(), own.begin() + steps * 6);
  }
  const std::uint64_t done = Order(n, before).done_after(steps);
  CHECK(done == steps * 24);
  for (std::int64_t world : {1, 2, 8}) {
    OrderOptions after = before;
    after.world = world;
    after.batch_size = 2;
    after.done = done;
    Samples rest = samples_of_world(n, after);
    rest.insert(rest.end(), all.begin(), all.end());
    CHECK(sorted(rest) == up_to(n));
  }
}

TEST_CASE("order: done_after counts what was done before and never passes the end") {
  const Order order(100, {.world = 2, .batch_size = 8, .tail = Tail::kPad, .done = 20});
  CHECK(order.done_after(0) == 20);
  CHECK(order.done_after(1) == 36);
  CHECK(order.done_after(order.steps()) == 100);
  CHECK(Order(100, {.tail = Tail::kPad, .done = 100}).steps() == 0);
}

TEST_CASE("order: epochs and seeds differ, the same ones repeat") {
  const auto of = [](std::uint64_t seed, std::uint64_t epoch) {
    return samples_of(Order(500, {.seed = seed, .epoch = epoch}));
  };
  CHECK(of(1, 1) == of(1, 1));
  CHECK(of(1, 1) != of(1, 2));
  CHECK(of(1, 1) != of(2, 1));
  CHECK(of(1, 2) != of(2, 1));
}

TEST_CASE("order: without shuffling it is the dataset's") {
  CHECK(samples_of(Order(100, {.kind = OrderKind::kSequential})) == up_to(100));
}

TEST_CASE("order: an empty dataset has no steps") {
  for (Tail tail : {Tail::kDrop, Tail::kPad, Tail::kKeep})
    CHECK(Order(0, {.tail = tail}).steps() == 0);
}

TEST_CASE("order: nonsense is refused") {
  const auto refused = [](const OrderOptions& options) {
    return kind_of_error([&] { Order(10, options); }) == ErrorKind::kUsage;
  };
  CHECK(refused({.world = 0}));
  CHECK(refused({.rank = 2, .world = 2}));
  CHECK(refused({.rank = -1}));
  CHECK(refused({.batch_size = 0}));
  CHECK(refused({.world = 2, .tail = Tail::kKeep}));
  CHECK(refused({.done = 11}));
}

}  // namespace packhorse::reader::test
