#include <doctest/doctest.h>

#include "measure/measurement.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

MeasureOptions options_for(Work work) {
  MeasureOptions options{.work = work, .cache = CacheState::kAsIs};
  options.loader = {
      .batch_size = 5, .workers = 2, .augment = RandomResizedCrop{.size = 24}, .tail = Tail::kKeep};
  return options;
}

/// Files of `bytes` bytes each, as a dataset.
class Files : public MemoryDataset {
 public:
  Files(const std::filesystem::path& folder, std::size_t count, std::size_t bytes)
      : MemoryDataset({}) {
    for (std::size_t i = 0; i < count; ++i) {
      paths_.push_back(folder / std::to_string(i));
      put(paths_.back(), std::string(bytes, '\7'));
    }
  }
  std::vector<std::filesystem::path> files() const override { return paths_; }

 private:
  std::vector<std::filesystem::path> paths_;
};

}  // namespace

TEST_CASE("measure: a pass counts its images, bytes and batches") {
  const auto dataset = make_dataset(42);
  std::uint64_t bytes = 0;
  for (const File& file : dataset->contents()) bytes += file.size();
  for (Work work : {Work::kRead, Work::kDecode}) {
    const Measurement result = measure(dataset, options_for(work));
    CHECK(result.images == 42);
    CHECK(result.bytes == bytes);
    CHECK(result.batch_ms.size() == 9);
    CHECK(result.counters.batches == 9);
    CHECK((result.counters.decode_ns > 0) == (work == Work::kDecode));
    CHECK(result.seconds > 0);
    CHECK(result.first_batch_s > 0);
    CHECK(result.images_per_s() > 0);
  }
}

TEST_CASE("measure: a limit of samples ends the pass") {
  MeasureOptions options = options_for(Work::kDecode);
  options.max_samples = 12;
  CHECK(measure(make_dataset(40), options).images == 15);
}

TEST_CASE("measure: a limit of time ends the pass") {
  MeasureOptions options = options_for(Work::kRead);
  options.max_seconds = 1e-9;
  CHECK(measure(make_dataset(40), options).images == 5);
}

TEST_CASE("measure: a pass that time ends is timed without the batches that warm up") {
  MeasureOptions options = options_for(Work::kRead);
  options.max_seconds = 1e-9;
  options.warmup_batches = 3;
  std::uint64_t asked = 0;
  options.disk_bytes = [&] { return 1000 * asked++; };
  const Measurement result = measure(make_dataset(40), options);
  CHECK(result.images == 5);
  CHECK(result.warmup_images == 15);
  CHECK(result.batch_ms.size() == 1);
  CHECK(result.counters.batches == 4);
  CHECK(result.bytes < result.counters.bytes);
  CHECK(result.first_batch_s > 0);
  CHECK(result.disk_bytes == 1000);  // warm-up included
}

TEST_CASE("measure: a pass to its epoch's end is timed whole, however many batches warm up") {
  for (const std::size_t warmup : {3u, 100u}) {
    MeasureOptions options = options_for(Work::kRead);
    options.max_seconds = 1e9;
    options.warmup_batches = warmup;
    const Measurement result = measure(make_dataset(40), options);
    CHECK(result.images == 40);
    CHECK(result.warmup_images == 0);
    CHECK(result.batch_ms.size() == 8);
    CHECK(result.bytes == result.counters.bytes);
  }
}

TEST_CASE("measure: a pass that is to stop ends with an error") {
  std::stop_source source;
  MeasureOptions options = options_for(Work::kRead);
  options.min_seconds = 1e9;
  options.stop = source.get_token();
  source.request_stop();
  CHECK(kind_of_error([&] { measure(make_dataset(40), options); }) == ErrorKind::kInterrupted);
}

TEST_CASE("measure: files become warm, and cold where the file system allows it") {
  const TemporaryDirectory directory("/var/tmp");
  const Files files(directory.path(), 3, 300'000);
  make_warm(files);
  try {
    make_cold(files);
    make_cold(files);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnsupported);  // a tmpfs
  }
  make_warm(files);
}

TEST_CASE("measure: files that are in memory already are read from the disk afresh") {
  const TemporaryDirectory directory("/var/tmp");  // others may be in memory
  const Files files(directory.path(), 3, 300'000);
  try {
    make_cold(files);
  } catch (const Error&) {
    packhorse::test::skipped("the page cache of this file system cannot be dropped");
    return;
  }
  make_warm(files);
  const auto from_disk = [&](auto&& load) {
    const std::uint64_t before = process_usage().disk_bytes;
    load(files);
    return process_usage().disk_bytes - before;
  };
  CHECK(from_disk(make_warm) < 900'000);  // pages of the process itself count, too
  CHECK(from_disk(load_afresh) >= 900'000);
}

TEST_CASE("measure: files that stay in memory are refused as cold") {
  if (!std::filesystem::is_directory("/dev/shm")) return;
  std::error_code code;
  const std::filesystem::path folder = "/dev/shm/packhorse-reader-test";
  std::filesystem::create_directory(folder, code);
  if (code) return;
  const Files files(folder, 2, 100'000);
  CHECK(kind_of_error([&] { make_cold(files); }) == ErrorKind::kUnsupported);
  std::filesystem::remove_all(folder);
}

TEST_CASE("measure: a cold pass that the disk delivered nothing for is refused") {
  const TemporaryDirectory directory;
  // Its samples come from memory, so dropping files from the page cache does not make reading cold.
  const auto files = std::make_shared<Files>(directory.path(), 3, 300'000);
  files->contents().assign(3, File(300'000));
  MeasureOptions options = options_for(Work::kRead);
  options.cache = CacheState::kCold;
  CHECK(kind_of_error([&] { measure(files, options); }) == ErrorKind::kUnsupported);
}

TEST_CASE("measure: percentiles interpolate between the values in order") {
  CHECK(percentile({3, 1, 2}, 0.5) == 2);
  CHECK(percentile({4, 1, 2, 3}, 0.5) == 2.5);
  CHECK(percentile({10, 20}, 0.25) == 12.5);
  CHECK(percentile({5, 1}, 1) == 5);
  CHECK(percentile({5, 1}, 0) == 1);
  CHECK(percentile({}, 0.5) == 0);
}

TEST_CASE("measure: a spread is minimum, median and maximum") {
  const Spread spread = spread_of({5, 9, 1, 2});
  CHECK(spread.min == 1);
  CHECK(spread.median == 3.5);
  CHECK(spread.max == 9);
  CHECK(spread_of({}).max == 0);
}

}  // namespace packhorse::reader::test
