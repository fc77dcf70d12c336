#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <iterator>
#include <new>
#include <thread>

#include "unit/reader/fixtures.h"
#include "unit/reader/loader/epoch.h"

namespace packhorse::reader::test {

TEST_CASE("loader: a batch leased over start_epoch() stays as it is, and its slot comes back") {
  const auto dataset = make_dataset(40);
  Loader fresh(dataset, options_for(0));
  const Epoch expected = epoch_of(fresh, 1);
  for (int workers : {0, 2}) {
    Loader loader(dataset, options_for(workers));
    loader.start_epoch(0);
    std::optional<Batch> kept = loader.next();
    std::optional<Batch> second = loader.next();
    Epoch before, after;
    append(before, *second);
    loader.start_epoch(1);
    kept.reset();
    Epoch all;
    append(all, *loader.next());
    // The next batch needs the slot of `second`. If it took the slot early, this would see other
    // pixels.
    std::jthread slow([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      append(after, *second);
      second.reset();
    });
    append(all, *loader.next());
    slow.join();
    CHECK(before == after);
    while (const std::optional<Batch> batch = loader.next()) append(all, *batch);
    CHECK(all == expected);
  }
}

TEST_CASE("loader: never more samples are made ahead than the slots hold") {
  const auto dataset = make_dataset(60);
  std::atomic<int> reads{0};
  dataset->on_read = [&](std::size_t) { ++reads; };
  Loader loader(dataset, options_for(4));
  loader.start_epoch(0);
  std::vector<Batch> kept;
  for (int i = 0; i < 3; ++i) kept.push_back(*loader.next());
  CHECK(reads == 15);  // three slots of five, all leased: nothing more can have been read
  kept.erase(kept.begin());
  kept.push_back(*loader.next());
  CHECK(reads == 20);
  kept.clear();
  rest_of(loader);
  CHECK(reads == 60);
}

TEST_CASE("loader: batches come back from other threads and in any order") {
  const auto dataset = make_dataset(60);
  Loader fresh(dataset, options_for(0));
  const Epoch expected = epoch_of(fresh, 0);
  for (int workers : {0, 2}) {
    Loader loader(dataset, options_for(workers));
    loader.start_epoch(0);
    Epoch all;
    std::vector<std::jthread> threads;
    while (true) {
      std::optional<Batch> first = loader.next();
      if (!first) break;
      std::optional<Batch> second = loader.next();
      append(all, *first);
      append(all, *second);
      std::jthread([batch = std::move(*second)]() mutable {
        Batch gone = std::move(batch);
      }).join();
      threads.emplace_back(
          [batch = std::move(*first)]() mutable { Batch gone = std::move(batch); });
    }
    threads.clear();
    CHECK(all == expected);
  }
}

TEST_CASE("loader: a slow consumer and slow workers get the same batches") {
  const auto dataset = make_dataset(30);
  Loader fresh(dataset, options_for(0));
  const Epoch expected = epoch_of(fresh, 0);
  Loader loader(dataset, options_for(2));
  loader.start_epoch(0);
  Epoch all;
  while (const std::optional<Batch> batch = loader.next()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    append(all, *batch);
  }
  CHECK(all == expected);
  dataset->on_read = [](std::size_t i) {
    std::this_thread::sleep_for(std::chrono::microseconds(i * 50));
  };
  CHECK(epoch_of(loader, 0) ==
        expected);  // the workers are idle, so nobody reads `on_read` while it is set
}

TEST_CASE("loader: kept images outlive their batches, the epoch and the loader") {
  const auto dataset = make_dataset(57);
  Loader reference(dataset, options_for(0));
  const std::array<Epoch, 2> expected = {epoch_of(reference, 0), epoch_of(reference, 1)};
  for (const int workers : {0, 3}) {
    struct Kept {
      std::shared_ptr<std::uint8_t> images;
      std::span<const std::uint8_t> pixels;
    };
    std::array<std::vector<Kept>, 2> kept;
    {
      Loader loader(dataset, options_for(workers));
      for (std::uint64_t epoch = 0; epoch < kept.size(); ++epoch) {
        loader.start_epoch(epoch);
        while (std::optional<Batch> batch = loader.next())
          kept[epoch].push_back({batch->keep_images(), batch->images()});
      }
    }
    for (std::size_t epoch = 0; epoch < kept.size(); ++epoch) {
      std::vector<std::uint8_t> pixels;
      for (const Kept& batch : kept[epoch])
        pixels.insert(pixels.end(), batch.pixels.begin(), batch.pixels.end());
      CHECK(pixels == expected[epoch].pixels);
    }
  }
}

TEST_CASE("loader: memory of kept images is used again, and freed with its last owner") {
  std::atomic<int> allocated = 0, freed = 0;
  LoaderOptions options = options_for(2);
  options.allocator = {[&](std::size_t bytes) {
                         ++allocated;
                         return ::operator new(bytes);
                       },
                       [&](void* memory, std::size_t) {
                         ++freed;
                         ::operator delete(memory);
                       }};
  std::shared_ptr<std::uint8_t> last;
  {
    Loader loader(make_dataset(57), options);
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      loader.start_epoch(epoch);
      while (std::optional<Batch> batch = loader.next()) last = batch->keep_images();
    }
    CHECK(allocated == options.slots + 2);  // one is kept while the next is taken
    CHECK(freed == 0);
  }
  CHECK(freed == allocated - 1);
  last.reset();
  CHECK(freed == allocated);
}

TEST_CASE("loader: wait() ends in time, and says whether a batch is there") {
  const auto dataset = make_dataset(20);
  Loader loader(dataset, options_for(1));
  using std::chrono::milliseconds, std::chrono::minutes;
  CHECK(loader.wait(milliseconds(0)));  // next() throws at once
  std::atomic<bool> go = false;
  dataset->on_read = [&](std::size_t) { go.wait(false); };
  loader.start_epoch(0);
  CHECK_FALSE(loader.wait(milliseconds(5)));
  go = true;
  go.notify_all();
  CHECK(loader.wait(minutes(5)));
  CHECK(rest_of(loader).samples.size() == 20);
  CHECK(loader.wait(milliseconds(0)));  // the end of the epoch
}

TEST_CASE("loader: slots come from the allocator, once, and go back to it") {
  std::vector<std::size_t> taken, returned;
  {
    LoaderOptions options = options_for(2);
    options.allocator = {[&](std::size_t bytes) {
                           taken.push_back(bytes);
                           return ::operator new(bytes);
                         },
                         [&](void* memory, std::size_t bytes) {
                           returned.push_back(bytes);
                           ::operator delete(memory);
                         }};
    Loader loader(make_dataset(40), options);
    epoch_of(loader, 0);
    epoch_of(loader, 1);
  }
  CHECK(taken == std::vector<std::size_t>(3, 5 * 24 * 24 * 3));
  CHECK(returned == taken);
}

}  // namespace packhorse::reader::test
