#include "checkpoint/checkpoint_store.h"

#include <ATen/ops/arange.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/process.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;
using test::put;

namespace {

namespace fs = std::filesystem;

Checkpoint checkpoint_of(std::int64_t step) {
  Checkpoint checkpoint;
  checkpoint.meta = {{"step", step}};
  checkpoint.model = {{"weight", at::arange(step, at::kLong)}};
  return checkpoint;
}

std::int64_t step_in(const fs::path& path) { return read_checkpoint(path).meta.at("step"); }

void save(CheckpointStore& store, std::int64_t step, bool best) {
  store.save(checkpoint_of(step), step, best);
  store.finish();
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("checkpoint store: an earlier run's checkpoints stay until a new one is there") {
  const test::TemporaryDirectory directory;
  {
    CheckpointStore earlier({.directory = directory.path(), .keep = 2, .after_save = {}});
    save(earlier, 100, true);
  }
  CheckpointStore store({.directory = directory.path(), .keep = 2, .after_save = {}});
  store.replace_earlier();
  CHECK(step_in(store.best()) == 100);
  CHECK(step_in(store.last()) == 100);
  CHECK(test::kind_of_error([&] { store.refuse_replaced(); }) == ErrorKind::kExists);
  save(store, 3, false);
  CHECK_NOTHROW(store.refuse_replaced());
  CHECK(names_in(directory.path()) == std::vector<std::string>{"last.pt", "step-000000003.pt"});
  save(store, 4, true);
  CHECK(step_in(store.best()) == 4);
}

TEST_CASE("checkpoint store: best.pt is there before last.pt tells of it") {
  const test::TemporaryDirectory directory;
  CheckpointStore store({.directory = directory.path(), .keep = 0, .after_save = {}});
  put(store.last() / "in the way", "");
  CHECK_THROWS_AS(save(store, 7, true), Error);
  CHECK(step_in(store.best()) == 7);
}

TEST_CASE("checkpoint store: what a killed run left half written is removed") {
  const test::TemporaryDirectory directory;
  put(directory / "last.pt.new.0123456789abcdef.tmp", "half");
  CheckpointStore store({.directory = directory.path(), .keep = 0, .after_save = {}});
  save(store, 1, false);
  CHECK(names_in(directory.path()) == std::vector<std::string>{"last.pt"});
}

TEST_CASE("checkpoint store: the command after saving has signals as usual") {
  const test::TemporaryDirectory directory;
  ignore_write_signals();
  CheckpointStore store({.directory = directory.path(), .keep = 0, .after_save = "kill -PIPE $$"});
  save(store, 1, false);
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  const auto notes = store.take_notes();
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].ends_with("terminated by signal 13"));
}
