#include "order/sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "order/order.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/dataset_views.h"
#include "support/support.h"
#include "unit/reader/order/classes.h"
#include "unit/reader/order/samples.h"

namespace packhorse::reader::test {

namespace {

using By = Sampling::By;

Sampling::Weights of(std::vector<double> weights) {
  return std::make_shared<std::vector<double>>(std::move(weights));
}

std::vector<Draw> draws_of(const Dataset& dataset, const Sampling& sampling,
                           OrderOptions options = {}) {
  const Order order(std::make_shared<Sampler>(dataset, sampling), options);
  std::vector<Draw> draws;
  for (std::uint64_t step = 0; step < order.steps(); ++step)
    for (std::int64_t place = 0; place < order.batch_size(step); ++place)
      draws.push_back(order.draw(step, place));
  return draws;
}

/// How often each class comes.
std::vector<double> classes_in(const Dataset& dataset, const std::vector<Draw>& draws) {
  std::vector<double> counts(dataset.classes().size());
  for (const Draw& draw : draws) ++counts[static_cast<std::size_t>(dataset.label(draw.sample))];
  return counts;
}

std::map<std::uint64_t, std::uint64_t> counts_of(const std::vector<Draw>& draws) {
  std::map<std::uint64_t, std::uint64_t> counts;
  for (const Draw& draw : draws) ++counts[draw.sample];
  return counts;
}

/// Pearson's statistic, of `counts` by `weights`.
double chi2(const std::vector<double>& counts, const std::vector<double>& weights) {
  double all = 0, sum = 0, statistic = 0;
  for (const double count : counts) all += count;
  for (const double weight : weights) sum += weight;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = all * weights[i] / sum;
    if (expected > 0) statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
    if (expected == 0) CHECK(counts[i] == 0);
  }
  return statistic;
}

/// About the 99.99 % quantile with `n` - 1 degrees of freedom, by Wilson and Hilferty.
double chi2_limit(std::size_t n) {
  const auto k = static_cast<double>(n - 1);
  return k * std::pow(1 - 2 / (9 * k) + 3.72 * std::sqrt(2 / (9 * k)), 3);
}

std::string refusal(const Dataset& dataset, const Sampling& sampling) {
  try {
    const Sampler sampler(dataset, sampling);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

const OfClasses& long_tail() {
  static const OfClasses dataset({5000, 1000, 200, 40, 8, 0});
  return dataset;
}

std::vector<double> roots() {
  return {std::sqrt(5000.), std::sqrt(1000.), std::sqrt(200.), std::sqrt(40.), std::sqrt(8.), 0};
}

}  // namespace

TEST_CASE("sampler: with replacement, classes come as often as their weights") {
  const std::vector<std::pair<Sampling, std::vector<double>>> cases = {
      {{.by = By::kBalanced}, {1, 1, 1, 1, 1, 0}},
      {{.by = By::kSqrt}, roots()},
      {{.by = By::kClasses, .weights = of({0, 3, 1, .5, 1e-2, 0})}, {0, 3, 1, .5, 1e-2, 0}}};
  for (auto [sampling, weights] : cases) {
    sampling.replacement = true;
    sampling.num_samples = 200'000;
    const std::vector<Draw> draws = draws_of(long_tail(), sampling);
    CHECK(draws.size() == 200'000);
    const double statistic = chi2(classes_in(long_tail(), draws), weights);
    CHECK(statistic < chi2_limit(6));
    CHECK(statistic > 1e-3);          // they are drawn, not dealt out
    std::vector<double> inside(200);  // of a class, all samples alike
    for (const Draw& draw : draws)
      if (draw.sample >= 6000 && draw.sample < 6200) ++inside[draw.sample - 6000];
    CHECK(chi2(inside, std::vector<double>(200, 1.)) < chi2_limit(200));
  }
}

TEST_CASE("sampler: without replacement, classes come as often as their weights, rounded") {
  for (const auto& [by, weights] : {std::pair(By::kBalanced, std::vector<double>{1, 1, 1, 1, 1, 0}),
                                    std::pair(By::kSqrt, roots())}) {
    const std::vector<Draw> draws = draws_of(long_tail(), {.by = by});
    CHECK(draws.size() == 6248);
    const std::vector<double> counts = classes_in(long_tail(), draws);
    double sum = 0;
    for (const double weight : weights) sum += weight;
    for (std::size_t c = 0; c < counts.size(); ++c)
      CHECK(std::abs(counts[c] - 6248 * weights[c] / sum) < 1);
  }
}

TEST_CASE("sampler: a rare class comes in its share of the epochs") {
  const Sampling sampling{
      .by = By::kClasses, .weights = of({1000, 1, 0, 0, 0, 0}), .num_samples = 300};
  double rare = 0;
  for (std::uint64_t epoch = 0; epoch < 1000; ++epoch)
    rare += classes_in(long_tail(), draws_of(long_tail(), sampling, {.epoch = epoch}))[1];
  CHECK(rare > 220);
  CHECK(rare < 380);
}

TEST_CASE("sampler: a class's samples come equally often, each pass has each of them once") {
  const std::vector<Draw> draws = draws_of(long_tail(), {.by = By::kBalanced});
  std::map<std::pair<std::int64_t, std::uint64_t>, std::set<std::uint64_t>> passes;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::size_t> sizes;
  for (const Draw& draw : draws) {
    const std::pair pass(long_tail().label(draw.sample), draw.occurrence);
    CHECK(passes[pass].insert(draw.sample).second);
    ++sizes[pass];
  }
  // 1,249 or 1,250 draws of each: 31 whole passes of 40, and 156 of 8.
  for (std::uint64_t pass = 0; pass < 31; ++pass) CHECK(sizes[{3, pass}] == 40);
  for (std::uint64_t pass = 0; pass < 156; ++pass) CHECK(sizes[{4, pass}] == 8);
  CHECK(sizes[{3, 32}] == 0);
  const auto counts = counts_of(draws);
  CHECK(std::ranges::all_of(counts, [](const auto& one) {
    return one.first < 5000 ? one.second == 1 : one.second >= 1;
  }));
}

TEST_CASE("sampler: passes come one after the other, and evenly, up to a block") {
  const OfClasses dataset({60'000, 6'000});
  const std::vector<Draw> draws = draws_of(dataset, {.by = By::kBalanced});
  std::vector<double> by_tenth(10);
  std::uint64_t late = 0, highest = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    if (dataset.label(draws[i].sample) == 0) continue;
    by_tenth[i / 6'600] += 1;
    highest = std::max(highest, draws[i].occurrence);
    late += draws[i].occurrence < highest ? 1u : 0u;
  }
  for (const double count : by_tenth) CHECK(std::abs(count - 3300) < 100);
  CHECK(highest == 5);
  CHECK(late < 5 * 1100);  // of 33,000; passes are mixed where they meet
}

TEST_CASE("sampler: weights of samples are frequencies, with zeros and rounding") {
  const OfClasses dataset({997});
  std::vector<double> weights(997);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i * i % 17);
  const std::vector<Draw> draws =
      draws_of(dataset, {.by = By::kSamples,
                         .weights = of(weights),
                         .num_samples = 1'000'000 / packhorse::test::kEvery});
  std::vector<double> counts(997);
  for (const Draw& draw : draws) ++counts[draw.sample];
  CHECK(chi2(counts, weights) < chi2_limit(997));
  std::set<std::pair<std::uint64_t, std::uint64_t>> streams;
  for (const Draw& draw : draws) streams.emplace(draw.sample, draw.occurrence);
  CHECK(streams.size() == draws.size());  // no augmentation comes twice
}

TEST_CASE("alias table: extreme weights, and one that is all") {
  for (const std::vector<double>& weights :
       {std::vector<double>{0, 0, 1e-300, 0}, {1e300, 0, 1e300}, {1, 1, 1}, {0, 5}, {1e-9, 1}}) {
    const AliasTable table(weights);
    std::vector<double> counts(weights.size());
    for (std::uint64_t i = 0; i < 30'000; ++i) ++counts[table.draw(mix64(i))];
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (weights[i] == 0) CHECK(counts[i] == 0);
    CHECK(chi2(counts, weights) < 25);
  }
}

TEST_CASE("sampler: any world size has the same epoch, also from its middle") {
  const auto first = std::make_shared<OfClasses>(std::vector<std::uint64_t>{300, 80});
  const auto mixture = concat({first, std::make_shared<OfClasses>(std::vector<std::uint64_t>{50})});
  const std::vector<std::pair<std::shared_ptr<const Dataset>, Sampling>> cases = {
      {first, {.by = By::kBalanced, .repeats = 3}},
      {first, {.by = By::kSqrt, .replacement = true}},
      {first, {.repeats = 2, .num_samples = 900}},
      {mixture, {.by = By::kMembers, .weights = of({1, 1}), .num_samples = 600}}};
  for (const auto& [dataset, sampling] : cases) {
    const auto sampler = std::make_shared<Sampler>(*dataset, sampling);
    const Draws expected = Order(sampler, {.seed = 2, .epoch = 7}).draws();
    for (const std::int64_t world : {1, 2, 3}) {
      for (const std::uint64_t done : {0u, 120u}) {
        for (std::int64_t rank = 0; rank < world; ++rank) {
          const Order order(
              sampler,
              {.seed = 2, .epoch = 7, .rank = rank, .world = world, .batch_size = 4, .done = done});
          const auto ranks = static_cast<std::uint64_t>(world);
          for (std::uint64_t ticket = 0; ticket < order.size(); ++ticket) {
            const std::uint64_t position = done + ticket * ranks + static_cast<std::uint64_t>(rank);
            REQUIRE(order.draw(ticket / 4, static_cast<std::int64_t>(ticket % 4)) ==
                    expected.at(position));
          }
        }
      }
    }
  }
}

namespace {

/// What DeiT's RASampler gives a rank, where `shuffled` is its permutation and no number is
/// rounded to 256 (samplers.py of github.com/facebookresearch/deit).
Samples ra_sampler(const Samples& shuffled, std::uint64_t repeats, std::uint64_t world,
                   std::uint64_t rank) {
  Samples indices;
  for (const std::uint64_t i : shuffled) indices.insert(indices.end(), repeats, i);
  const std::uint64_t num_samples = (shuffled.size() * repeats + world - 1) / world;
  while (indices.size() < num_samples * world)
    indices.push_back(indices[indices.size() - shuffled.size() * repeats]);
  Samples own;
  for (std::uint64_t i = rank; i < num_samples * world; i += world) own.push_back(indices[i]);
  own.resize(shuffled.size() / world);
  return own;
}

}  // namespace

TEST_CASE("sampler: repeats are those of DeiT's RASampler") {
  const OfClasses dataset({240});
  const auto plain = std::make_shared<Sampler>(240);
  const Order once(plain, {.seed = 4, .epoch = 3});
  Samples shuffled;
  for (std::uint64_t i = 0; i < 240; ++i) shuffled.push_back(once.sample(i));
  for (const std::uint64_t repeats : {1u, 3u, 4u}) {
    const auto sampler = std::make_shared<Sampler>(dataset, Sampling{.repeats = repeats});
    CHECK(sampler->size() == 240);
    for (const std::int64_t world : {1, 2, 3, 8}) {
      for (std::int64_t rank = 0; rank < world; ++rank) {
        const Order order(sampler,
                          {.seed = 4, .epoch = 3, .rank = rank, .world = world, .batch_size = 5});
        Samples own;
        for (std::uint64_t ticket = 0; ticket < order.size(); ++ticket)
          own.push_back(order.sample(ticket));
        CHECK(own == ra_sampler(shuffled, repeats, static_cast<std::uint64_t>(world),
                                static_cast<std::uint64_t>(rank)));
      }
    }
    const Order order(sampler, {.seed = 4, .epoch = 3});
    for (std::uint64_t i = 0; i < 240; ++i) CHECK(order.draw(i, 0).occurrence == i % repeats);
  }
}

TEST_CASE("sampler: more samples than there are come in further passes, by windows too") {
  const OfClasses dataset({100});
  const auto runs = std::make_shared<Runs>(dataset, 70);
  for (const OrderKind kind : {OrderKind::kGlobal, OrderKind::kWindow, OrderKind::kSequential}) {
    const std::vector<Draw> draws =
        draws_of(dataset, {.num_samples = 250},
                 {.kind = kind, .runs = runs, .runs_per_window = 3, .seed = 1});
    REQUIRE(draws.size() == 250);
    Samples first, second;
    for (std::size_t i = 0; i < 250; ++i) {
      CHECK(draws[i].occurrence == i / 100);
      if (i < 100) first.push_back(draws[i].sample);
      if (i >= 100 && i < 200) second.push_back(draws[i].sample);
    }
    CHECK(sorted(first) == up_to(100));
    CHECK(sorted(second) == up_to(100));
    CHECK((first == second) == (kind == OrderKind::kSequential));
  }
}

TEST_CASE("sampler: there is nothing beyond an epoch, in any order and with any weights") {
  const OfClasses dataset({50, 30});
  const auto runs = std::make_shared<Runs>(dataset, 70);
  for (const Sampling& sampling :
       {Sampling{}, Sampling{.repeats = 3}, Sampling{.num_samples = 200},
        Sampling{.by = By::kBalanced}, Sampling{.by = By::kBalanced, .replacement = true}}) {
    const auto sampler = std::make_shared<Sampler>(dataset, sampling);
    for (const OrderKind kind : {OrderKind::kGlobal, OrderKind::kWindow, OrderKind::kSequential}) {
      if (sampling.by != By::kNone && kind != OrderKind::kGlobal) continue;
      const Draws draws(sampler, kind, {runs, 3}, 1);
      CHECK_NOTHROW(draws.at(sampler->size() - 1));
      for (const std::uint64_t position : {sampler->size(), sampler->size() + 1, ~std::uint64_t{0}})
        CHECK_THROWS_AS(draws.at(position), Error);
      if (kind == OrderKind::kWindow) CHECK_THROWS_AS(draws.window_end(sampler->size()), Error);
    }
  }
}

TEST_CASE("sampler: without weights and repeats it is the plain one") {
  const OfClasses dataset({100});
  CHECK(Sampler(dataset, {}).is_plain());
  CHECK(Sampler(dataset, {.num_samples = 100}).is_plain());
  CHECK(!Sampler(dataset, {.num_samples = 99}).is_plain());
  CHECK(draws_of(dataset, {}) == draws_of(dataset, {.num_samples = 100}));
  const std::string id = Sampler(dataset, {.by = By::kClasses, .weights = of({1})}).id();
  CHECK(id == Sampler(dataset, {.by = By::kClasses, .weights = of({1})}).id());
  CHECK(id != Sampler(dataset, {.by = By::kClasses, .weights = of({2})}).id());
  CHECK(id != Sampler(dataset, {.by = By::kBalanced}).id());
}

TEST_CASE("mixture: members come by weight, and end with the first or all of them") {
  const auto made = [](std::uint64_t size) {
    return std::make_shared<OfClasses>(std::vector<std::uint64_t>{size});
  };
  const auto mixture = concat({made(5000), made(3000), made(200)});
  const auto members_of = [&](const std::vector<Draw>& draws) {
    std::vector<std::uint64_t> counts(3);
    for (const Draw& draw : draws) ++counts[member_sample(*mixture, draw.sample).member];
    return counts;
  };
  using Counts = std::vector<std::uint64_t>;
  SUBCASE("by their sizes, each sample once") {
    const std::vector<Draw> draws = draws_of(*mixture, {.by = By::kMembers});
    CHECK(members_of(draws) == Counts{5000, 3000, 200});
    CHECK(counts_of(draws).size() == 8200);
    for (const Draw& draw : draws) REQUIRE(draw.occurrence == 0);
  }
  SUBCASE("until the first ends, none comes twice") {
    const std::vector<Draw> draws =
        draws_of(*mixture, {.by = By::kMembers, .weights = of({.5, .3, .2})});
    CHECK(members_of(draws) == Counts{500, 300, 200});
    CHECK(counts_of(draws).size() == 1000);
  }
  SUBCASE("until all have ended, short ones begin again") {
    const std::vector<Draw> draws = draws_of(
        *mixture,
        {.by = By::kMembers, .weights = of({.5, .25, .25}), .until = Sampling::Until::kAll});
    CHECK(members_of(draws) == Counts{6000, 3000, 3000});
    std::map<std::uint64_t, std::uint64_t> counts = counts_of(draws);
    CHECK(counts.size() == 8200);
    for (std::uint64_t i = 8000; i < 8200; ++i) CHECK(counts[i] == 15);
  }
  SUBCASE("a member without a weight is left out") {
    const std::vector<Draw> draws =
        draws_of(*mixture, {.by = By::kMembers, .weights = of({0, 1, 3}), .num_samples = 4000});
    CHECK(members_of(draws) == Counts{0, 1000, 3000});
  }
  SUBCASE("each epoch differs, and members are counted at any place") {
    const auto sampler = std::make_shared<Sampler>(
        *mixture, Sampling{.by = By::kMembers, .weights = of({2, 1, 1}), .num_samples = 6000});
    const Order order(sampler, {.epoch = 1});
    CHECK(Order(sampler, {.epoch = 2}).draw(0, 0) != order.draw(0, 0));
    Counts counts(3);
    for (std::uint64_t i = 0; i < 6000; ++i) {
      if (i % 500 == 3) CHECK(order.draws().of_members(i) == counts);
      ++counts[member_sample(*mixture, order.sample(i)).member];
    }
    CHECK(order.draws().of_members(6000) == counts);
  }
}

TEST_CASE("mixture: by windows, members are read run by run and their samples mixed") {
  struct InFiles final : OfClasses {
    InFiles(std::uint64_t samples) : OfClasses({samples}) {}
    std::size_t file_of(std::size_t i) const override { return i / 100; }
  };
  const auto mixture = concat({std::make_shared<InFiles>(4000), std::make_shared<InFiles>(1000)});
  OrderOptions options{.kind = OrderKind::kWindow,
                       .runs = std::make_shared<Runs>(*mixture, 200),
                       .runs_per_window = 30};
  const auto sampler = std::make_shared<Sampler>(*mixture, Sampling{.by = By::kMembers});
  const Order order(sampler, options);
  std::set<std::uint64_t> seen;
  for (std::uint64_t begin = 0; begin < order.size();) {
    const std::uint64_t end = order.window_end(begin).value();
    REQUIRE(end > begin);
    std::set<std::uint64_t> runs;
    for (std::uint64_t i = begin; i < end; ++i) {
      runs.insert(order.sample(i) / 20);
      seen.insert(order.sample(i));
    }
    CHECK(end - begin < 700);
    CHECK(runs.size() <= (end - begin) / 20 + 4);  // whole runs, but for those at its ends
    begin = end;
  }
  CHECK(seen.size() == 5000);
}

TEST_CASE("sampler: what makes no sense is refused by name") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const OfClasses two({3, 2});
  const auto samples = [&](std::vector<double> weights) {
    return refusal(two, {.by = By::kSamples, .weights = of(std::move(weights))});
  };
  CHECK(samples({1, 1, 1}) == "3 weights for 5 samples");
  CHECK(samples({1, 1, -1, 1, 1}) == "the weight of sample 2 is -1");
  CHECK(samples({1, nan, 1, 1, 1}) == "the weight of sample 1 is nan");
  CHECK(samples({0, 0, 0, 0, 0}) == "all weights are 0");
  CHECK(samples({1e308, 1e308, 1, 1, 1}) == "the sum of the weights is too large");
  CHECK(refusal(two, {.by = By::kSamples}) == "the weights are missing");
  CHECK(refusal(two, {.by = By::kClasses, .weights = of({1})}) == "1 weights for 2 classes");
  CHECK(refusal(two, {.by = By::kClasses, .weights = of({1, -2})}) ==
        "the weight of the class 'class 1' is -2");
  CHECK(refusal(long_tail(), {.by = By::kClasses, .weights = of({1, 1, 1, 1, 1, 1})}) ==
        "the class 'class 5' has a weight and no samples");
  CHECK(refusal(two, {.by = By::kMembers}) == "one dataset has no members to weigh");
  CHECK(refusal(two, {.by = By::kField, .field = "score"}) ==
        "there is no field 'score' with weights");
  CHECK(refusal(two, {.replacement = true}) ==
        "`replacement=` is about weights of classes or samples");
  CHECK(refusal(two, {.until = Sampling::Until::kAll}) == "`until=` is about several datasets");
  CHECK(refusal(two, {.by = By::kMembers, .num_samples = 3, .until = Sampling::Until::kAll}) ==
        "`num_samples=` says when an epoch ends, and `until=`, too");
  CHECK(refusal(two, {.repeats = 0}) == "a sample must be repeated once or more, not 0 times");
  CHECK(refusal(OfClasses({}), {.by = By::kBalanced}) == "the dataset has no samples to draw");
  CHECK(refusal(MemoryDataset({File(1), File(1)}), {.by = By::kBalanced}) ==
        "memory sample 1 is of none of the classes, which have weights");
  CHECK_THROWS_WITH_AS(class_weights(two, {{"class 0", 1}}), "the class 'class 1' has no weight",
                       Error);
  CHECK_THROWS_WITH_AS(class_weights(two, {{"class 0", 1}, {"class 1", 1}, {"clas", 1}}),
                       "there is no class 'clas'", Error);
  CHECK(*class_weights(two, {{"class 1", 3}, {"class 0", 1}}) == std::vector<double>{1, 3});
  CHECK_THROWS_WITH_AS(Sampling{.by = By::kBalanced}.validate(OrderKind::kWindow),
                       "weights of classes or samples draw no windows of neighbours", Error);
  CHECK_THROWS_WITH_AS(Sampling{.by = By::kMembers}.validate(OrderKind::kSequential),
                       "in stored order nothing is drawn by weight", Error);
  Sampling{.by = By::kMembers}.validate(OrderKind::kWindowFirst);
}

TEST_CASE("sampler: weights in a field are numbers as text") {
  struct WithField final : OfClasses {
    WithField() : OfClasses({4}) {}
    const std::vector<std::string>& fields() const override { return fields_; }
    bool read_field(std::size_t i, std::size_t, std::vector<std::byte>& out) const override {
      const std::string& text = texts[i];
      out.assign(reinterpret_cast<const std::byte*>(text.data()),
                 reinterpret_cast<const std::byte*>(text.data() + text.size()));
      return !text.empty();
    }
    std::vector<std::string> texts = {"0", " 2.5\n", "1e1", "0.5"};
    std::vector<std::string> fields_ = {"score"};
  };
  WithField dataset;
  const Sampling sampling{.by = By::kField, .field = "score", .num_samples = 100'000};
  std::vector<double> counts(4);
  for (const Draw& draw : draws_of(dataset, sampling)) ++counts[draw.sample];
  CHECK(chi2(counts, {0, 2.5, 10, .5}) < chi2_limit(4));
  dataset.texts[2] = "high";
  CHECK(refusal(dataset, sampling) == "memory sample 2: its field of weights is not a number");
  dataset.texts[2] = "";
  CHECK(refusal(dataset, sampling) == "memory sample 2: it has no field 'score' with its weight");
}

}  // namespace packhorse::reader::test
