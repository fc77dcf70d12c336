#include "packhorse/reader/loader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <set>
#include <thread>

#include "packhorse/reader/decode.h"
#include "unit/reader/fixtures.h"
#include "unit/reader/loader/epoch.h"

namespace packhorse::reader::test {

TEST_CASE("loader: pixels, labels and order are the same for any number of workers") {
  const auto dataset = make_dataset(57);
  Loader inline_loader(dataset, options_for(0));
  const Epoch expected = epoch_of(inline_loader, 3);
  CHECK(expected.samples.size() == 55);
  CHECK(expected.pixels.size() == 55u * 24 * 24 * 3);
  for (int workers : {1, 2, 5}) {
    Loader loader(dataset, options_for(workers));
    CHECK(loader.workers() == workers);
    CHECK(epoch_of(loader, 3) == expected);
    CHECK(epoch_of(loader, 4) != expected);
    CHECK(epoch_of(loader, 3) == expected);
  }
}

TEST_CASE("loader: images are what a decoder makes of the samples") {
  const auto dataset = make_dataset(20);
  Loader loader(dataset, options_for(2));
  loader.start_epoch(6);
  while (const std::optional<Batch> batch = loader.next()) {
    for (std::size_t i = 0; i < 5; ++i) {
      const std::uint64_t sample = batch->samples()[i];
      std::vector<std::uint8_t> image(24 * 24 * 3);
      Decoder().decode(dataset->contents()[sample], kCrop, SampleRandom(11, 6, sample), image);
      REQUIRE(std::equal(image.begin(), image.end(),
                         batch->images().begin() + static_cast<std::ptrdiff_t>(i * image.size())));
      REQUIRE(batch->labels()[i] == dataset->label(sample));
    }
  }
}

TEST_CASE("loader: images that cannot be decoded here are told before the first batch") {
  const auto dataset = make_dataset(20);
  dataset->on_image = [](std::size_t i) {
    if (i % 5 == 0) return ImageInfo{ImageKind::kTiff, 1, 32, 1, 8, 8};
    return ImageInfo{ImageKind::kJpeg, 3, static_cast<std::uint8_t>(i == 7 ? 12 : 8), 1, 8, 8};
  };
  LoaderOptions options = options_for(1);
  std::string what;
  try {
    const Loader loader(dataset, options);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnsupported);
    what = error.what();
  }
  CHECK(what ==
        "5 of its images cannot be decoded here: 1 JPEG of 12 bits, 4 TIFF of "
        "floating-point numbers");
  options.bad_samples = BadSampleOptions::parse("4");
  CHECK(kind_of_error([&] { const Loader loader(dataset, options); }) == ErrorKind::kUnsupported);
  options.bad_samples = BadSampleOptions::parse("5");
  const Loader loader(dataset, options);
}

TEST_CASE("loader: ranks share the epoch") {
  const auto dataset = make_dataset(40);
  std::multiset<std::uint64_t> all;
  for (int rank : {0, 1}) {
    LoaderOptions options = options_for(2);
    options.rank = rank;
    options.world = 2;
    Loader loader(dataset, options);
    const Epoch epoch = epoch_of(loader, 1);
    CHECK(loader.steps() == 4);
    all.insert(epoch.samples.begin(), epoch.samples.end());
  }
  CHECK(all.size() == 40);
  CHECK(std::set(all.begin(), all.end()).size() == 40);
}

TEST_CASE("loader: tails are dropped, padded or kept") {
  const auto dataset = make_dataset(12);
  for (const auto& [tail, sizes] : {std::pair(Tail::kDrop, std::vector<std::int64_t>{5, 5}),
                                    std::pair(Tail::kPad, std::vector<std::int64_t>{5, 5, 5}),
                                    std::pair(Tail::kKeep, std::vector<std::int64_t>{5, 5, 2})}) {
    for (int workers : {0, 2}) {
      LoaderOptions options = options_for(workers);
      options.tail = tail;
      Loader loader(dataset, options);
      CHECK(epoch_of(loader, 0).sizes == sizes);
      CHECK(loader.state().done == (tail == Tail::kDrop ? 10 : 12));
    }
  }
}

TEST_CASE("loader: an epoch without a batch is refused with the numbers, its last piece is not") {
  const auto dataset = make_dataset(12);
  LoaderOptions options = options_for(0);
  options.batch_size = 13;
  Loader none(dataset, options);
  CHECK_THROWS_WITH_AS(none.start_epoch(0),
                       "an epoch has no batch: the dataset has 12 samples, and a batch takes 13",
                       Error);
  options.batch_size = 7;
  options.world = 2;
  Loader of_two(dataset, options);
  CHECK_THROWS_WITH_AS(
      of_two.start_epoch(0),
      "an epoch has no batch: the dataset has 12 samples, and a batch takes 7 on each of 2 ranks",
      Error);
  options.world = 1;
  Loader one(dataset, options);
  one.start_epoch(0, 7);
  CHECK(one.steps() == 0);
  options.batch_size = 13;
  for (const Tail tail : {Tail::kPad, Tail::kKeep}) {
    options.tail = tail;
    Loader whole(dataset, options);
    CHECK(epoch_of(whole, 0).sizes.size() == 1);
  }
}

TEST_CASE("loader: it goes on from its state, at another batch size and number of workers, too") {
  const auto dataset = make_dataset(60);
  Loader whole(dataset, options_for(0));
  const Epoch expected = epoch_of(whole, 2);
  for (int workers : {0, 2}) {
    Epoch all;
    LoaderState state;
    {
      Loader first(dataset, options_for(workers));
      first.start_epoch(2);
      for (int i = 0; i < 4; ++i) append(all, *first.next());
      state = first.state();
    }
    CHECK(state.epoch == 2);
    CHECK(state.seed == 11);
    CHECK(state.done == 20);
    LoaderOptions options = options_for(2 - workers);
    options.batch_size = 8;
    Loader second(dataset, options);
    const Epoch rest = epoch_of(second, state.epoch, state.done);
    all.pixels.insert(all.pixels.end(), rest.pixels.begin(), rest.pixels.end());
    all.samples.insert(all.samples.end(), rest.samples.begin(), rest.samples.end());
    CHECK(all.samples == expected.samples);
    CHECK(all.pixels == expected.pixels);
  }
}

TEST_CASE("loader: next() before start_epoch() is refused, after the end it is nothing") {
  Loader loader(make_dataset(5), options_for(1));
  CHECK(kind_of_error([&] { loader.next(); }) == ErrorKind::kUsage);
  epoch_of(loader, 0);
  CHECK(!loader.next());
  CHECK(!loader.next());
}

TEST_CASE("loader: an empty dataset has no batches, and no epoch") {
  Loader loader(make_dataset(0), options_for(2));
  CHECK(loader.steps() == 0);
  CHECK(kind_of_error([&] { loader.start_epoch(0); }) == ErrorKind::kUsage);
}

TEST_CASE("loader: an undecodable sample is named") {
  const auto dataset = make_dataset(30);
  dataset->contents()[17].resize(100);
  for (int workers : {0, 1, 2, 5}) {
    Loader loader(dataset, options_for(workers));
    std::string message;
    try {
      epoch_of(loader, 0);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kCorrupt);
      message = error.what();
    }
    CHECK(message.starts_with("memory sample 17: "));
  }
}

TEST_CASE("loader: an error in reading keeps its kind, path and key; others pass as they are") {
  const auto dataset = make_dataset(10);
  Loader loader(dataset, options_for(2));
  dataset->on_read = [](std::size_t i) {
    if (i == 3) throw Error(ErrorKind::kIo, "cannot read", "disk", "buy another", "key-3");
  };
  loader.start_epoch(0);
  try {
    rest_of(loader);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kIo);
    CHECK(error.path() == "disk");
    CHECK(error.advice() == "buy another");
    CHECK(error.key() == "key-3");
    CHECK(std::string(error.what()) == "memory sample 3: cannot read");
  }
  const auto hungry = make_dataset(10);
  hungry->on_read = [](std::size_t) { throw std::bad_alloc(); };
  Loader other(hungry, options_for(2));
  CHECK_THROWS_AS(epoch_of(other, 1), std::bad_alloc);
}

TEST_CASE("loader: an error comes at once, while the batch before it cannot be completed") {
  const auto dataset = make_dataset(10);
  std::mutex held;
  std::unique_lock hold(held);
  // The order is as stored: sample 0 blocks the first batch, sample 7 fails in the second one.
  dataset->on_read = [&](std::size_t i) {
    if (i == 0) std::lock_guard wait(held);
    if (i == 7) throw Error(ErrorKind::kIo, "cannot read");
  };
  LoaderOptions options = options_for(2);
  options.order = OrderKind::kSequential;
  Loader loader(dataset, options);
  loader.start_epoch(0);
  CHECK(kind_of_error([&] { loader.next(); }) == ErrorKind::kIo);
  CHECK(kind_of_error([&] { loader.next(); }) == ErrorKind::kIo);
  hold.unlock();
}

TEST_CASE("loader: a new epoch begins after an error") {
  const auto dataset = make_dataset(30);
  Loader healthy(dataset, options_for(0));
  const Epoch expected = epoch_of(healthy, 5);
  std::atomic<bool> broken{false};
  dataset->on_read = [&](std::size_t i) {
    if (i == 4 && broken) throw Error(ErrorKind::kIo, "cannot read");
  };
  for (int workers : {0, 2}) {
    Loader loader(dataset, options_for(workers));
    broken = true;
    CHECK_THROWS_AS(epoch_of(loader, 0), Error);
    broken = false;
    CHECK(epoch_of(loader, 5) == expected);
  }
}

TEST_CASE("loader: start_epoch() in the middle drops what was prepared") {
  const auto dataset = make_dataset(40);
  Loader fresh(dataset, options_for(0));
  const Epoch expected = epoch_of(fresh, 1);
  for (int workers : {0, 1, 3}) {
    Loader loader(dataset, options_for(workers));
    for (int i = 0; i < 20; ++i) {
      loader.start_epoch(0);
      for (int batch = 0; batch < i % 6; ++batch) loader.next();
    }
    CHECK(epoch_of(loader, 1) == expected);
  }
}

TEST_CASE("loader: destroying it in the middle of an epoch ends its threads") {
  const auto dataset = make_dataset(40);
  const std::size_t before = entries_of("/proc/self/task");
  for (int i = 0; i < 200; ++i) {
    {
      Loader loader(dataset, options_for(i % 4));
      if (i % 5 != 0) loader.start_epoch(static_cast<std::uint64_t>(i));
      for (int batch = 0; batch < i % 5; ++batch) loader.next();
    }
    REQUIRE(no_more_threads_than(before));
  }
}

TEST_CASE("loader: reading without decoding gives labels, counts bytes and leaves images black") {
  const auto dataset = make_dataset(10);
  dataset->contents()[3] = File(77);  // not an image
  LoaderOptions options = options_for(2);
  options.decode = false;
  Loader loader(dataset, options);
  const Epoch epoch = epoch_of(loader, 0);
  CHECK(epoch.labels.size() == 10);
  CHECK(std::count(epoch.pixels.begin(), epoch.pixels.end(), 0) ==
        static_cast<std::ptrdiff_t>(epoch.pixels.size()));
  std::uint64_t bytes = 0;
  for (const File& file : dataset->contents()) bytes += file.size();
  const LoaderCounters counters = loader.counters();
  CHECK(counters.bytes == bytes);
  CHECK(counters.samples == 10);
  CHECK(counters.batches == 2);
  CHECK(counters.decode_ns == 0);
}

TEST_CASE("loader: nonsense is refused") {
  const auto refused = [](auto&& change) {
    LoaderOptions options;
    change(options);
    return kind_of_error([&] { options.validate(); }) == ErrorKind::kUsage;
  };
  CHECK(refused([](LoaderOptions& o) { o.batch_size = 0; }));
  CHECK(refused([](LoaderOptions& o) { o.workers = -2; }));
  CHECK(refused([](LoaderOptions& o) { o.slots = 1; }));
  CHECK(refused([](LoaderOptions& o) { o.rank = 1; }));
  CHECK(refused([](LoaderOptions& o) { o.augment = PadCrop{.size = 0}; }));
  CHECK(refused([](LoaderOptions& o) {
    o.allocator.allocate = [](std::size_t) -> void* { return nullptr; };
  }));
  LoaderOptions().validate();
}

TEST_CASE("loader: an observer hears of both stages of every sample, from the workers") {
  std::mutex mutex;
  std::array<int, 2> heard{};
  bool in_order = true;
  LoaderOptions options = options_for(2);
  options.observer = [&](Stage stage, std::chrono::steady_clock::time_point begin,
                         std::chrono::steady_clock::time_point end) {
    const std::scoped_lock lock(mutex);
    ++heard.at(static_cast<std::size_t>(stage));
    in_order = in_order && begin <= end;
  };
  {
    Loader loader(make_dataset(10), options);
    loader.start_epoch(0);
    while (loader.next()) {
    }
  }
  CHECK(heard == std::array<int, 2>{10, 10});
  CHECK(in_order);
}

}  // namespace packhorse::reader::test
