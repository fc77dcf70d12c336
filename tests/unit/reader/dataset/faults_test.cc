// How a loader behaves when samples are damaged and files change under it.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "base/file.h"
#include "dataset/shard_index.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/reader/loader.h"
#include "support/made_dataset.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

namespace fs = std::filesystem;
using packhorse::test::MadeDataset;
using packhorse::test::Row;

LoaderOptions replacing(int workers) {
  LoaderOptions options{.batch_size = 5,
                        .workers = workers,
                        .slots = 3,
                        .augment = RandomResizedCrop{.size = 24},
                        .seed = 11};
  options.bad_samples = {BadSamplePolicy::kReplace, {10, {}}};
  return options;
}

/// The samples, pixels and batch sizes of an epoch.
struct Epoch {
  std::vector<std::uint64_t> samples;
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> sizes;
  friend bool operator==(const Epoch&, const Epoch&) = default;
};

Epoch epoch_of(Loader& loader, std::uint64_t epoch = 0) {
  Epoch all;
  loader.start_epoch(epoch);
  while (const std::optional<Batch> batch = loader.next()) {
    all.samples.insert(all.samples.end(), batch->samples().begin(), batch->samples().end());
    all.pixels.insert(all.pixels.end(), batch->images().begin(), batch->images().end());
    all.sizes.push_back(batch->size());
  }
  return all;
}

/// Packs JPEGs of several pages each, all into one shard.
void write_dataset(const fs::path& path, const std::string& format, std::size_t samples) {
  MadeDataset made{.format = format, .shard_samples = samples};
  for (std::size_t i = 0; i < samples; ++i) {
    const File file = make_jpeg(make_picture(240, 180, 3, static_cast<unsigned>(i)));
    made.rows.push_back({key_of(i), 0, std::string(as_text(file))});
  }
  made.write(path);
}

fs::path data_of(const fs::path& dataset) { return PackedDataset(dataset).data_path(0); }

std::uint64_t resident_bytes() {
  std::uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * 4096;
}

}  // namespace

TEST_CASE("faults: of many shards, a missing one or a damaged index is an error that is thrown") {
  const TemporaryDirectory folder;
  MadeDataset made{.format = "wds", .shard_samples = 1};
  const File file = make_jpeg(make_picture(32, 32, 3, 1));
  for (std::size_t i = 0; i <= kShardsAtOnce; ++i)
    made.rows.push_back({key_of(i), 0, std::string(as_text(file))});
  made.write(folder.path() / "many");
  const auto fails = [&](const LoaderOptions& options) {
    Loader loader(Dataset::open(folder.path() / "many"), options);
    try {
      epoch_of(loader);
    } catch (const Error& error) {
      return error.kind();
    }
    FAIL("no Error was thrown");
    return ErrorKind::kUsage;
  };
  for (const int workers : {0, 2}) {
    LoaderOptions options = replacing(workers);
    options.order = workers == 0 ? OrderKind::kGlobal : OrderKind::kWindow;
    const fs::path data = folder.path() / "many" / "shard-7.tar",
                   index = folder.path() / "many/shard-9.index";
    fs::rename(data, folder.path() / "away");
    CHECK(fails(options) == ErrorKind::kNotFound);
    fs::rename(folder.path() / "away", data);
    const std::string right = read_text(index);
    std::string damaged = right;
    damaged[100] = static_cast<char>(damaged[100] ^ 1);
    const auto put = [&](const std::string& text) {
      std::ofstream(index, std::ios::binary) << text;
    };
    put(damaged);
    {
      // As for a damaged sample: another one comes in its place.
      Loader loader(Dataset::open(folder.path() / "many"), options);
      CHECK(epoch_of(loader).samples.size() == kShardsAtOnce + 1);
      CHECK(loader.counters().bad_samples <= 1);
      options.bad_samples = {};
      CHECK(fails(options) == ErrorKind::kCorrupt);
    }
    put(right);
    Loader loader(Dataset::open(folder.path() / "many"), replacing(workers));
    CHECK(epoch_of(loader).samples.size() == kShardsAtOnce + 1);
  }
}

TEST_CASE("bad samples: replaced ones are named, and the rest of the epoch is as ever") {
  const auto dataset = make_dataset(40);
  Loader healthy(dataset, replacing(0));
  const Epoch expected = epoch_of(healthy);
  dataset->contents()[7] = File(50);
  dataset->contents()[23].resize(dataset->contents()[23].size() / 2);
  std::optional<Epoch> first;
  for (const int workers : {0, 1, 4}) {
    Loader loader(dataset, replacing(workers));
    const Epoch epoch = epoch_of(loader);
    CHECK(epoch.sizes == expected.sizes);
    if (!first) first = epoch;
    CHECK(epoch == *first);
    for (std::size_t i = 0; i < expected.samples.size(); ++i) {
      const bool bad = expected.samples[i] == 7 || expected.samples[i] == 23;
      CHECK((epoch.samples[i] == expected.samples[i]) == !bad);
    }
    std::set<std::uint64_t> named;
    for (const BadSample& bad : loader.bad_samples()) {
      named.insert(bad.sample);
      CHECK(bad.what.find("memory sample " + std::to_string(bad.sample)) != std::string::npos);
    }
    CHECK(named == std::set<std::uint64_t>{7, 23});
    CHECK(loader.counters().bad_samples == loader.bad_samples().size());
  }
}

TEST_CASE("bad samples: what cannot be decoded for another reason than damage is replaced, too") {
  const auto dataset = make_dataset(40);
  dataset->contents()[7] = packhorse::test::make_float_tiff();
  dataset->contents()[23] = make_jpeg(make_picture(90, 70), {.progressive = true});
  LoaderOptions options = replacing(2);
  options.limits.scan_pixels = 9 * 90 * 70;
  Loader loader(dataset, options);
  CHECK(epoch_of(loader).samples.size() == 40);
  std::set<std::uint64_t> named;
  for (const BadSample& bad : loader.bad_samples()) named.insert(bad.sample);
  CHECK(named == std::set<std::uint64_t>{7, 23});

  options.bad_samples = {};
  Loader strict(dataset, options);
  CHECK(kind_of_error([&] { epoch_of(strict); }) == ErrorKind::kUnsupported);
}

TEST_CASE("bad samples: what the storage does not give is no bad sample") {
  const auto dataset = make_dataset(40);
  dataset->on_read = [](std::size_t i) {
    if (i == 7) throw Error(ErrorKind::kIo, "the disk says no");
  };
  Loader loader(dataset, replacing(2));
  CHECK(kind_of_error([&] { epoch_of(loader); }) == ErrorKind::kIo);
}

TEST_CASE("bad samples: one more than the cap ends the epoch, by count and by share") {
  const auto dataset = make_dataset(40);
  for (const std::size_t i : {3u, 9u, 17u, 30u}) dataset->contents()[i] = File(50);
  for (const int workers : {0, 3}) {
    LoaderOptions options = replacing(workers);
    // A replacement may be bad itself, which counts as one more.
    options.bad_samples.limit = {3, {}};
    Loader by_count(dataset, options);
    CHECK(kind_of_error([&] { epoch_of(by_count); }) == ErrorKind::kCorrupt);
    options.bad_samples.limit = {0, 7.5};  // 3 of 40
    Loader by_share(dataset, options);
    CHECK(kind_of_error([&] { epoch_of(by_share); }) == ErrorKind::kCorrupt);
    options.bad_samples.limit = {0, 100};
    Loader enough(dataset, options);
    CHECK(epoch_of(enough, 0).sizes.size() == 8);
    CHECK(epoch_of(enough, 1).sizes.size() == 8);  // the limit is per epoch
  }
}

TEST_CASE("bad samples: a dataset of nothing else ends, and the default policy is to fail") {
  const auto dataset = make_dataset(10);
  for (File& file : dataset->contents()) file = File(50);
  LoaderOptions options = replacing(2);
  options.bad_samples.limit = {1'000'000, {}};
  Loader replacing_all(dataset, options);
  CHECK(kind_of_error([&] { epoch_of(replacing_all); }) == ErrorKind::kCorrupt);
  Loader failing(dataset, {.batch_size = 5, .workers = 2, .augment = RandomResizedCrop{24}});
  CHECK(kind_of_error([&] { epoch_of(failing); }) == ErrorKind::kCorrupt);
  CHECK(failing.bad_samples().empty());
}

TEST_CASE("bad samples: left out, their places stay black and say so") {
  for (const int workers : {0, 3}) {
    CAPTURE(workers);
    const auto dataset = make_dataset(12);
    LoaderOptions options = replacing(workers);
    options.order = OrderKind::kSequential;
    options.tail = Tail::kKeep;
    Loader whole(dataset, options);
    const Epoch clean = epoch_of(whole);
    for (const std::size_t bad : {3u, 11u}) dataset->contents()[bad] = File(50);
    options.bad_samples = {BadSamplePolicy::kLeaveOut, {2, {}}};
    Loader loader(dataset, options);
    const Epoch found = epoch_of(loader);
    CHECK(found.sizes == clean.sizes);
    constexpr std::size_t kBytes = 24 * 24 * 3;
    for (std::size_t i = 0; i < 12; ++i) {
      CAPTURE(i);
      const bool bad = i == 3 || i == 11;
      CHECK(found.samples[i] == (bad ? kLeftOut : i));
      const auto pixels = std::span(found.pixels).subspan(i * kBytes, kBytes);
      const auto before = std::span(clean.pixels).subspan(i * kBytes, kBytes);
      CHECK(std::all_of(pixels.begin(), pixels.end(), [](int value) { return value == 0; }) == bad);
      CHECK(std::equal(pixels.begin(), pixels.end(), before.begin()) == !bad);
    }
    const std::vector<BadSample> named = loader.bad_samples();
    REQUIRE(named.size() == 2);
    CHECK(named[0].sample + named[1].sample == 14);
    CHECK(named[0].by == kLeftOut);
    CHECK(loader.counters().bad_samples == 2);
    dataset->contents()[0] = File(50);
    CHECK(kind_of_error([&] { epoch_of(loader, 1); }) == ErrorKind::kCorrupt);
  }
}

TEST_CASE("bad samples: the policy in words") {
  CHECK(BadSampleOptions::parse("0").policy == BadSamplePolicy::kFail);
  CHECK(BadSampleOptions::parse("0%").policy == BadSamplePolicy::kFail);
  CHECK(BadSampleOptions::parse("12").policy == BadSamplePolicy::kReplace);
  CHECK(BadSampleOptions::parse("12").limit.allowed(1000) == 12);
  const BadSamplePolicy other = BadSamplePolicy::kLeaveOut;
  CHECK(BadSampleOptions::parse("12", other).policy == other);
  CHECK(BadSampleOptions::parse("0", other).policy == BadSamplePolicy::kFail);
  CHECK(BadSampleOptions::parse("0.5%").limit.allowed(1000) == 5);
  CHECK(kind_of_error([] { BadSampleOptions::parse("some"); }) == ErrorKind::kUsage);
}

TEST_CASE("bad samples: a file that cannot be read is an error under any policy") {
  const auto dataset = make_dataset(20);
  dataset->on_read = [](std::size_t i) {
    if (i == 4) throw Error(ErrorKind::kNotFound, "it is gone");
  };
  Loader loader(dataset, replacing(2));
  CHECK(kind_of_error([&] { epoch_of(loader); }) == ErrorKind::kNotFound);
}

TEST_CASE("bad samples: flipped bytes of a packed dataset are replaced, never delivered") {
  const TemporaryDirectory directory;
  for (const std::string format : {"wds", "lmdb", "hdf5"}) {
    const fs::path path = directory / format;
    write_dataset(path, format, 20);
    const PackedDataset packed(path);
    const ByteRange range = packed.index(0)->range(6);
    std::fstream file(packed.data_path(0), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(range.offset + range.length / 2));
    file.put('\x55');
    file.close();
    Loader loader(Dataset::open(path), replacing(2));
    const Epoch epoch = epoch_of(loader);
    CHECK(std::count(epoch.samples.begin(), epoch.samples.end(), 6u) == 0);
    REQUIRE(loader.bad_samples().size() == 1);
    CHECK(loader.bad_samples().front().what.find(key_of(6)) != std::string::npos);
  }
}

TEST_CASE("faults: a shard that is cut in the middle of an epoch is an error with its name") {
  const TemporaryDirectory directory;
  for (const std::string format : {"wds", "lmdb", "hdf5"}) {
    for (const int workers : {0, 2}) {
      const fs::path path = directory / (format + std::to_string(workers));
      write_dataset(path, format, 40);
      LoaderOptions options = replacing(workers);
      options.order = OrderKind::kSequential;
      options.slots = 2;
      Loader loader(Dataset::open(path), options);
      loader.start_epoch(0);
      CHECK(loader.next());
      const fs::path data = data_of(path);
      fs::resize_file(data, fs::file_size(data) / 3);
      try {
        while (loader.next()) {
        }
        FAIL("nobody noticed");
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::kIo);
        CHECK(error.path() == data);
      }
    }
  }
}

TEST_CASE("faults: a file that is cut between its hash check and its decoding is no bad sample") {
  /// Returns a damaged picture, and reports only afterwards that its file was truncated.
  class CutDataset final : public MemoryDataset {
   public:
    CutDataset() : MemoryDataset(std::vector<File>(20, File(50))) {}
    void check_whole(std::size_t) const override { throw Error(ErrorKind::kIo, "it was cut"); }
  };
  Loader loader(std::make_shared<CutDataset>(), replacing(2));
  CHECK(kind_of_error([&] { epoch_of(loader); }) == ErrorKind::kIo);
  CHECK(loader.bad_samples().empty());
}

TEST_CASE("faults: an index that is cut in the middle of an epoch is an error with its name") {
  const TemporaryDirectory directory;
  write_dataset(directory / "d", "wds", 300);
  const fs::path index =
      directory / "d" / PackedDataset(directory / "d").manifest().shards[0].index;
  LoaderOptions options = replacing(2);
  options.order = OrderKind::kSequential;
  Loader loader(Dataset::open(directory / "d"), options);
  loader.start_epoch(0);
  fs::resize_file(index, 0);
  try {
    while (loader.next()) {
    }
    FAIL("nobody noticed");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kIo);
    CHECK(error.path() == index);
  }
}

TEST_CASE("faults: shards that are removed or locked away stay readable to the end") {
  const TemporaryDirectory directory;
  write_dataset(directory / "d", "wds", 40);
  Loader loader(Dataset::open(directory / "d"), replacing(2));
  const Epoch expected = epoch_of(loader);
  fs::permissions(data_of(directory / "d"), fs::perms::none);
  CHECK(epoch_of(loader) == expected);
  fs::remove_all(directory / "d");
  CHECK(epoch_of(loader) == expected);
}

TEST_CASE("faults: a file of a class folder that is gone is an error with its name") {
  const TemporaryDirectory directory;
  for (int i = 0; i < 20; ++i) {
    const File file = make_jpeg(make_picture(40, 30, 3, static_cast<unsigned>(i)));
    put(directory / "cats" / (std::to_string(10 + i) + ".jpg"), std::string(as_text(file)));
  }
  Loader loader(Dataset::open(directory.path()), replacing(2));
  fs::remove(directory / "cats" / "17.jpg");
  try {
    epoch_of(loader);
    FAIL("nobody noticed");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kNotFound);
    CHECK(error.path().filename() == "17.jpg");
  }
}

TEST_CASE("loader: huge pages hold the same batches") {
  const auto dataset = make_dataset(40);
  Loader plain(dataset, replacing(2));
  LoaderOptions options = replacing(2);
  options.allocator = huge_page_allocator();
  Loader huge(dataset, options);
  CHECK(epoch_of(huge) == epoch_of(plain));
  const SlotAllocator allocator = huge_page_allocator();
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{3} << 20}) {
    void* memory = allocator.allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % (2u << 20) == 0);
    std::memset(memory, 1, bytes);
    allocator.deallocate(memory, bytes);
  }
}

TEST_CASE("loader: a million steps grow nothing") {
  // Growth per step shows in fewer, too.
  constexpr std::uint64_t kSteps = packhorse::test::kEvery == 1 ? 1'000'000 : 20'000;
  const auto dataset = std::make_shared<MemoryDataset>(std::vector<File>(1000, File(10)));
  Loader loader(dataset, {.batch_size = 1,
                          .workers = 2,
                          .slots = 64,
                          .augment = RandomResizedCrop{.size = 8},
                          .decode = false});
  std::uint64_t steps = 0, before = 0;
  for (std::uint64_t epoch = 0; steps < kSteps; ++epoch) {
    loader.start_epoch(epoch);
    for (; loader.next(); ++steps) {
    }
    if (steps == kSteps / 10) before = resident_bytes();
  }
  REQUIRE(before > 0);
  CHECK(resident_bytes() < before + (1u << 20));
}

TEST_CASE("loader: destructions at any moment leave no thread and no descriptor") {
  constexpr int kLoaders = 1000 / packhorse::test::kEvery;
  const TemporaryDirectory directory;
  write_dataset(directory / "d", "wds", 30);
  const std::size_t threads = entries_of("/proc/self/task"), files = entries_of("/proc/self/fd");
  std::mt19937 random(1);
  for (int i = 0; i < kLoaders; ++i) {
    LoaderOptions options = replacing(static_cast<int>(random() % 4));
    options.order = static_cast<OrderKind>(random() % 3);
    Loader loader(Dataset::open(directory / "d"), options);
    if (random() % 8 == 0) continue;
    loader.start_epoch(random() % 3);
    for (std::uint64_t batches = random() % 5; batches > 0 && loader.next(); --batches) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
  }
  CHECK(no_more_threads_than(threads));
  CHECK(entries_of("/proc/self/fd") == files);
}

}  // namespace packhorse::reader::test
