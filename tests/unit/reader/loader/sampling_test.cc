#include "packhorse/reader/sampling.h"

#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "order/order.h"
#include "packhorse/reader/dataset_views.h"
#include "unit/reader/fixtures.h"
#include "unit/reader/loader/epoch.h"
#include "unit/reader/order/classes.h"

namespace packhorse::reader::test {

namespace {

using By = Sampling::By;

Sampling::Weights weights(std::vector<double> values) {
  return std::make_shared<std::vector<double>>(std::move(values));
}

LoaderOptions sampled(int workers, const Sampling& sampling) {
  LoaderOptions options = options_for(workers);
  options.sampling = sampling;
  return options;
}

/// The pixels of each place of an epoch.
std::vector<std::vector<std::uint8_t>> images_of(const Epoch& epoch) {
  constexpr std::ptrdiff_t kSampleBytes = 24 * 24 * 3;
  std::vector<std::vector<std::uint8_t>> images;
  for (auto at = epoch.pixels.begin(); at != epoch.pixels.end(); at += kSampleBytes)
    images.emplace_back(at, at + kSampleBytes);
  return images;
}

std::shared_ptr<const Dataset> mixture() { return concat({make_dataset(40), make_dataset(15)}); }

/// Memory in use, of all threads.
std::size_t bytes_in_use() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

}  // namespace

TEST_CASE("sampling: repeats are augmented anew, and the first of them as without repeats") {
  const auto dataset = make_dataset(30);
  Loader plain(dataset, options_for(0));
  const Epoch once = epoch_of(plain, 2);
  std::map<std::uint64_t, std::vector<std::uint8_t>> expected;
  for (std::size_t i = 0; i < once.samples.size(); ++i)
    expected[once.samples[i]] = images_of(once)[i];
  Loader loader(dataset, sampled(2, {.repeats = 3}));
  const Epoch epoch = epoch_of(loader, 2);
  const auto images = images_of(epoch);
  REQUIRE(epoch.samples.size() == 30);
  for (std::size_t i = 0; i < 30; ++i) {
    CHECK(epoch.samples[i] == once.samples[i / 3]);
    CHECK((images[i] == expected[epoch.samples[i]]) == (i % 3 == 0));
    if (i % 3 == 2) CHECK(images[i] != images[i - 1]);
  }
  CHECK(loader.sampling_report().distinct == 10);
  CHECK(loader.sampling_report().samples == 30);
}

TEST_CASE("sampling: any number of workers makes the same batches, also after a stop in between") {
  const std::vector<std::pair<std::shared_ptr<const Dataset>, Sampling>> cases = {
      {mixture(), {.by = By::kMembers, .weights = weights({1, 1}), .num_samples = 60}},
      {make_dataset(50),
       {.by = By::kSamples, .weights = weights(std::vector<double>(50, 1.5)), .repeats = 2}}};
  for (const auto& [dataset, sampling] : cases) {
    Loader first(dataset, sampled(0, sampling));
    const Epoch expected = epoch_of(first, 3);
    for (const int workers : {1, 3}) {
      Loader loader(dataset, sampled(workers, sampling));
      CHECK(epoch_of(loader, 3) == expected);
      CHECK(epoch_of(loader, 4) != expected);
      loader.start_epoch(3);
      Epoch both;
      for (int i = 0; i < 4; ++i) append(both, *loader.next());
      Loader later(dataset, sampled(workers, sampling));
      later.start_epoch(3, loader.state().done);
      while (const std::optional<Batch> batch = later.next()) append(both, *batch);
      CHECK(both == expected);
    }
  }
}

TEST_CASE("sampling: a subset and its plain copy make the same batches") {
  const auto all = make_dataset(30);
  std::vector<std::uint64_t> numbers;
  std::vector<File> files;
  for (std::uint64_t i = 3; i < 30; i += 2) {
    numbers.push_back(i);
    files.push_back(all->contents()[i]);
  }
  Loader part(subset(all, numbers), options_for(2));
  Loader copy(std::make_shared<MemoryDataset>(files), options_for(2));
  const Epoch of_part = epoch_of(part, 1);
  const Epoch of_copy = epoch_of(copy, 1);
  CHECK(of_part.pixels == of_copy.pixels);
  CHECK(of_part.samples == of_copy.samples);
  for (std::size_t i = 0; i < of_part.labels.size(); ++i)
    CHECK(of_part.labels[i] == all->label(numbers[of_part.samples[i]]));
}

TEST_CASE("sampling: a bad sample is replaced by one that has a weight") {
  const auto dataset = make_dataset(40);
  dataset->contents()[7].clear();
  std::vector<double> some(40);
  for (const std::size_t i : {7u, 8u, 9u, 10u}) some[i] = 1;
  LoaderOptions options =
      sampled(1, {.by = By::kSamples, .weights = weights(some), .num_samples = 100});
  options.bad_samples = BadSampleOptions::parse("40");
  Loader loader(dataset, options);
  std::set<std::uint64_t> seen;
  for (const std::uint64_t sample : epoch_of(loader, 0).samples) seen.insert(sample);
  CHECK(seen == std::set<std::uint64_t>{8, 9, 10});
  CHECK(loader.counters().bad_samples > 10);
}

TEST_CASE("sampling: weights change at an epoch, and the id with them") {
  const auto dataset = mixture();
  Loader loader(dataset,
                sampled(1, {.by = By::kMembers, .weights = weights({1, 1}), .num_samples = 50}));
  const std::string id = loader.sampling_id();
  const auto of_second = [&](const Epoch& epoch) {
    return std::ranges::count_if(epoch.samples, [](std::uint64_t i) { return i >= 40; });
  };
  CHECK(of_second(epoch_of(loader, 0)) == 25);
  CHECK(loader.members_done(50) == std::vector<std::uint64_t>{25, 25});
  loader.start_epoch(1);
  loader.set_weights(weights({1, 4}));
  CHECK(of_second(rest_of(loader)) == 25);  // of the epoch that had begun
  CHECK(of_second(epoch_of(loader, 1)) == 40);
  CHECK(loader.sampling_id() != id);
  CHECK(kind_of_error([&] { loader.set_weights(weights({1, 2, 3})); }) == ErrorKind::kUsage);
  CHECK(of_second(epoch_of(loader, 1)) == 40);
  loader.set_weights(weights({1, 1}));
  CHECK(loader.sampling_id() == id);
  Loader plain(dataset, options_for(0));
  CHECK(plain.sampling_id().empty());
  CHECK(kind_of_error([&] { plain.set_weights(weights({1, 1})); }) == ErrorKind::kUsage);
}

TEST_CASE("sampling: a mixture that ends with its first member has other numbers of steps") {
  Loader loader(mixture(), sampled(0, {.by = By::kMembers, .weights = weights({1, 1})}));
  CHECK(loader.steps_of_epoch() == 6);
  loader.set_weights(weights({4, 1}));
  CHECK(loader.steps_of_epoch() == 10);
  CHECK(epoch_of(loader, 0).samples.size() == 50);
}

TEST_CASE(
    "sampling: weights of a kind of which there are none are refused when the loader is made") {
  const auto refused = [](const Sampling& sampling, OrderKind order) {
    LoaderOptions options = sampled(0, sampling);
    options.order = order;
    try {
      const Loader loader(make_dataset(10), options);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kUsage;
    }
    return false;
  };
  CHECK(refused({.by = By::kMembers}, OrderKind::kGlobal));
  CHECK(refused({.by = By::kSamples, .weights = weights({1})}, OrderKind::kGlobal));
  const Sampling fine{.by = By::kSamples, .weights = weights(std::vector<double>(10, 1))};
  CHECK(!refused(fine, OrderKind::kGlobal));
  CHECK(refused(fine, OrderKind::kSequential));
  CHECK(refused(fine, OrderKind::kWindow));
  CHECK(refused(fine, OrderKind::kWindowFirst));
}

TEST_CASE("sampling: memory is 8 bytes a sample for weights, 4 for classes, none for repeats") {
  struct Many final : MemoryDataset {
    Many() : MemoryDataset({}) {}
    std::size_t size() const override { return 4'000'000; }
    std::int64_t label(std::size_t i) const override { return static_cast<std::int64_t>(i % 3); }
    const std::vector<std::string>& classes() const override { return names; }
    std::vector<std::string> names{"a", "b", "c"};
  };
  const Many dataset;
  const auto measured = [&](Sampling sampling) {
    const std::size_t before = bytes_in_use();
    const auto sampler = std::make_shared<Sampler>(dataset, std::exchange(sampling, {}));
    const Order order(sampler, {.epoch = 1});
    CHECK(order.sample(12345) < dataset.size());
    return static_cast<double>(bytes_in_use() - before) / static_cast<double>(dataset.size());
  };
  const Sampling::Weights each = weights(std::vector<double>(dataset.size(), 2));
  CHECK(measured({.by = By::kSamples, .weights = each}) < 8.1);
  CHECK(measured({.by = By::kBalanced}) < 4.4);
  CHECK(measured({.by = By::kBalanced, .replacement = true}) < 4.1);
  CHECK(measured({.repeats = 3, .num_samples = 100'000'000}) < .1);
}

}  // namespace packhorse::reader::test
