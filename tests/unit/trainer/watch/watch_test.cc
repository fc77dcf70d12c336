#include "watch/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "packhorse/trainer/train/fit.h"
#include "support/support.h"
#include "unit/trainer/toy_set.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

/// A run in its own directory, and the notes it made.
struct Toy {
  Toy() { test::make_toy_set(directory / "data", 2, 8); }

  WatchedRun run(int rank = 0) {
    return {.out = directory / "run",
            .resumed_step = -1,
            .device = {},
            .rank = rank,
            .world = 2,
            .local_rank = rank,
            .note = [this](const std::string& note) { notes.push_back(note); }};
  }
  /// A loader that has read an epoch, without workers.
  std::unique_ptr<reader::Loader> read_an_epoch() {
    auto loader = std::make_unique<reader::Loader>(
        dataset, reader::LoaderOptions{
                     .batch_size = 4, .workers = 0, .augment = reader::PadCrop{.size = 8}});
    loader->start_epoch(0);
    while (loader->next()) {
    }
    return loader;
  }

  test::TemporaryDirectory directory;
  std::vector<std::string> notes;
  std::shared_ptr<const reader::Dataset> dataset;
};

EpochLog slow_epoch(double seconds = 60) {
  EpochLog log;
  log.epoch = 1;
  log.seconds = seconds;
  log.data_wait_share = 0.4;
  return log;
}

}  // namespace

TEST_CASE("watch: the first process writes files, the others none") {
  Toy toy;
  StepReport report;
  report.epoch = 2;
  report.step = 3;
  report.steps = 10;
  {
    Watch other({}, toy.run(1));
    other.on_step(report);
    CHECK_FALSE(std::filesystem::exists(toy.directory / "run"));
  }
  make_directories(toy.directory / "run");
  Watch first({}, toy.run(0));
  first.on_step(report);
  CHECK(read_text(toy.directory / "run/steps.jsonl").starts_with(R"({"epoch":2,"step":13,)"));
  for (const auto& file : std::filesystem::directory_iterator(toy.directory / "run/tensorboard")) {
    const std::string text = read_text(file.path());
    for (const char* tag : {"train/loss", "counters/packhorse_loader_bad_samples_total"})
      CHECK(text.find(tag) != std::string::npos);
    CHECK(text.find("device/memory_gib") == std::string::npos);  // there is no device
  }
  CHECK_FALSE(first.metrics_port());
}

TEST_CASE("watch: no file is written where none is wanted") {
  Toy toy;
  make_directories(toy.directory / "run");
  Watch watch({.files = false}, toy.run());
  watch.on_step({});
  watch.on_epoch({});
  CHECK(std::filesystem::is_empty(toy.directory / "run"));
}

TEST_CASE("watch: processes of one machine serve at ports side by side, and say where") {
  Toy toy;
  make_directories(toy.directory / "run");
  const Watch any({.metrics_port = 0}, toy.run());
  REQUIRE(any.metrics_port());
  CHECK(toy.notes == std::vector<std::string>{"metrics are at http://127.0.0.1:" +
                                              std::to_string(*any.metrics_port()) + "/metrics"});
  // An address of this process alone, and ports that the kernel gives nobody by chance, and no
  // exporter of metrics takes.
  const auto id = static_cast<unsigned>(::getpid());
  const std::string own =
      fmt::format("127.{}.{}.{}", 1 + id / 64516 % 254, 1 + id / 254 % 254, 1 + id % 254);
  const WatchOptions options{.files = false, .metrics_port = 30400, .metrics_address = own};
  const Watch first(options, toy.run(0));
  const Watch second(options, toy.run(1));
  CHECK(first.metrics_port() == 30400);
  CHECK(second.metrics_port() == 30401);
}

TEST_CASE("watch: an epoch that waited for data brings advice, each only once") {
  Toy toy;
  toy.dataset = reader::Dataset::open(toy.directory / "data");
  Watch watch({.files = false}, toy.run());
  const auto loader = toy.read_an_epoch();
  {
    // The counters start here: an epoch in which nothing was read tells nothing.
    const auto watching = watch.loader(*loader, *toy.dataset);
    watch.on_epoch(slow_epoch());
    CHECK(toy.notes.empty());
    for (int epoch = 1; epoch < 4; ++epoch) {
      loader->start_epoch(static_cast<std::uint64_t>(epoch));
      while (loader->next()) {
      }
      watch.on_epoch(slow_epoch(epoch == 1 ? 0.5 : 60));
      CHECK(toy.notes.size() == (epoch == 1 ? 0 : 1));  // half a second says little
    }
  }
  REQUIRE(toy.notes.size() == 1);
  CHECK(toy.notes[0].find("40 % of the time") != std::string::npos);
  CHECK(toy.notes[0].find("`workers=") != std::string::npos);
  watch.on_epoch(slow_epoch());  // there is no loader to judge by
  CHECK(toy.notes.size() == 1);
}

TEST_CASE("watch: without a trace nobody observes the loader") {
  Toy toy;
  const Watch plain({.files = false}, toy.run());
  CHECK_FALSE(plain.observer());
  const Watch traced({.files = false, .trace = toy.directory / "t.json"}, toy.run());
  CHECK(traced.observer());
}
