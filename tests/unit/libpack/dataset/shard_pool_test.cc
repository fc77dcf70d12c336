#include "dataset/shard_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "dataset/shard_index.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "support/made_dataset.h"
#include "support/support.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::MadeDataset;
using test::Row;
using test::TemporaryDirectory;

/// Claims all mappings that datasets may have, so that the next ones keep the fewest shards open.
struct NoMappings {
  ShardPool all{1u << 20, 0, false};
};

constexpr std::size_t kInShard = 2, kSamples = (kShardsAtOnce + 100) * kInShard;

MadeDataset small_shards(std::size_t samples = kSamples) {
  MadeDataset made{.shard_samples = kInShard};
  for (std::size_t i = 0; i < samples; ++i)
    made.rows.push_back(
        {key_of(i), static_cast<std::int64_t>(i % 2), "image " + std::to_string(i)});
  return made;
}

struct WrittenShards {
  explicit WrittenShards(MadeDataset given) : made(std::move(given)) { made.write(path); }
  TemporaryDirectory directory;
  const fs::path path = directory / "out";
  MadeDataset made;
};

/// Written once: so many files take long.
const WrittenShards& shared_shards() {
  static const WrittenShards shards(small_shards());
  return shards;
}

/// A dataset of more shards than may stay open.
struct TooManyShards {
  explicit TooManyShards(const WrittenShards& written = shared_shards())
      : path(written.path), made(written.made) {}
  const fs::path& path;
  const MadeDataset& made;
  NoMappings hog;
  PackedDataset dataset{path};
};

std::string content_of(const PackedDataset& dataset, std::size_t sample) {
  std::vector<std::byte> bytes;
  dataset.read(sample, bytes);
  return std::string(as_text(bytes));
}

/// Mappings of the files of a dataset.
std::size_t mapped_in(const fs::path& dataset) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find(dataset.string() + "/shard-") != std::string::npos;
  return count;
}

}  // namespace

TEST_CASE("shard pool: beyond what may be mapped, shards are closed, and opened again") {
  const TooManyShards many;
  const MadeDataset& made = many.made;
  const PackedDataset& dataset = many.dataset;
  CHECK(mapped_in(many.path) == 0);  // not all fit, so none is opened before it is needed
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < kSamples; ++i) {
      const std::size_t sample = round == 1 ? (i * 77) % kSamples : i;
      CHECK(content_of(dataset, sample) == made.rows[sample].bytes);
    }
    CHECK(mapped_in(many.path) <= 2 * (64 + 1));
  }
}

TEST_CASE("shard pool: a view and an index stay while they are held, whatever is closed") {
  const TooManyShards many;
  const PackedDataset& dataset = many.dataset;
  const auto index = dataset.index(0);
  const BytesLease view = dataset.view(1);
  for (std::size_t shard = 0; shard < dataset.shards(); ++shard)
    CHECK(dataset.index(shard)->size() == kInShard);
  CHECK(index->key(1) == "000000001");
  CHECK(as_text(view.bytes) == "image 1");
  dataset.check_whole(1);
}

TEST_CASE("shard pool: a file that is cut while it is viewed is named, though others were opened") {
  MadeDataset made = small_shards();
  made.rows[1].bytes = std::string(100'000, 'x');
  const WrittenShards written(std::move(made));
  const TooManyShards many(written);
  const PackedDataset& dataset = many.dataset;
  const BytesLease view = dataset.view(1);
  fs::resize_file(dataset.data_path(0), 2048);
  CHECK(view.bytes[50'000] == std::byte{0});
  for (std::size_t shard = 1; shard < dataset.shards(); ++shard) dataset.index(shard);
  CHECK(kind_of_error([&] { dataset.check_whole(1); }) == ErrorKind::kIo);
}

TEST_CASE("shard pool: a forked child goes on, whatever other threads were about to open") {
  const TooManyShards many;
  const MadeDataset& made = many.made;
  const PackedDataset& dataset = many.dataset;
  std::atomic<bool> ending{false};
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; !ending; i += 77) content_of(dataset, i % kSamples);
    });
  }
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);  // a child that hangs is a failure
      bool right = true;
      for (std::size_t i = 0; i < 50; ++i)
        right =
            right && content_of(dataset, i * 41 % kSamples) == made.rows[i * 41 % kSamples].bytes;
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  ending = true;
}

TEST_CASE("shard pool: many threads read what is opened and closed under them") {
  const TooManyShards many;
  const MadeDataset& made = many.made;
  const PackedDataset& dataset = many.dataset;
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < 3000; ++i) {
          const std::size_t sample = (i * 37 + t * 51) % kSamples;
          if (content_of(dataset, sample) != made.rows[sample].bytes) ++wrong;
          if (dataset.index(sample / kInShard)->label(sample % kInShard) != made.rows[sample].label)
            ++wrong;
        }
      });
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("shard pool: a dataset of many shards is opened as it is needed, a small one at once") {
  const TemporaryDirectory directory;
  const std::size_t samples = (kShardsAtOnce + 1) * kInShard;
  small_shards(samples).write(directory / "many");
  const PackedDataset many(directory / "many");
  CHECK(many.opens_as_needed());
  CHECK(mapped_in(directory / "many") == 0);
  CHECK(content_of(many, samples - 1) == "image " + std::to_string(samples - 1));
  CHECK(mapped_in(directory / "many") == 2);
  fs::remove(many.data_path(3));
  CHECK(kind_of_error([&] { content_of(many, 3 * kInShard); }) == ErrorKind::kNotFound);
  many.check_whole(3 * kInShard);  // nothing of it was seen
  CHECK(many.name_at(many.place(3 * kInShard)) == "number 6");
  CHECK(PackedDataset(directory / "many").size() == samples);

  const NoMappings hog;  // which does not matter to a small one
  small_shards(4).write(directory / "few");
  const PackedDataset few(directory / "few");
  CHECK_FALSE(few.opens_as_needed());
  fs::remove(few.data_path(1));
  CHECK(kind_of_error([&] { PackedDataset again(directory / "few"); }) == ErrorKind::kNotFound);
}

}  // namespace packhorse
