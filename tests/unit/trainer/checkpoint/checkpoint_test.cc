#include "checkpoint/checkpoint.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>

#include "base/file.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

Checkpoint some_checkpoint() {
  Checkpoint checkpoint;
  checkpoint.meta = {{"arch", "smallnet"},
                     {"step", 12345678901},
                     {"lr", 0.1},
                     {"flag", true},
                     {"none", nullptr},
                     {"classes", {"ant", "bee"}},
                     {"recipe", {{"epochs", 3}, {"lr", 1.0}}}};
  checkpoint.model = {
      {"conv.weight", at::randn({4, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast)},
      {"bn.num_batches_tracked", at::arange(1, at::kLong).sum()}};
  checkpoint.optimizer["momentum"] = {{"conv.weight", at::randn({4, 3, 3, 3})}};
  checkpoint.ema = {{"conv.weight", at::randn({4, 3, 3, 3})}};
  checkpoint.scaler = at::arange(3, at::kDouble);
  return checkpoint;
}

bool equal(const NamedTensors& a, const NamedTensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first || !a[i].second.equal(b[i].second)) return false;
    if (a[i].second.strides() != b[i].second.strides()) return false;
  }
  return true;
}

bool equal(const Checkpoint& a, const Checkpoint& b) {
  return a.meta == b.meta && equal(a.model, b.model) &&
         equal(a.optimizer.at("momentum"), b.optimizer.at("momentum")) && equal(a.ema, b.ema) &&
         a.scaler.equal(b.scaler);
}

}  // namespace

TEST_CASE("checkpoint: comes back as it was written") {
  const test::TemporaryDirectory directory;
  const auto path = directory / "last.pt";
  const Checkpoint written = some_checkpoint();
  write_checkpoint(path, written);
  const Checkpoint read = read_checkpoint(path);
  CHECK(equal(read, written));
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path()))
    CHECK(entry.path() == path);
}

TEST_CASE("checkpoint: any flipped byte that changes a value is an error naming the file") {
  const test::TemporaryDirectory directory;
  const auto path = directory / "last.pt";
  const Checkpoint written = some_checkpoint();
  write_checkpoint(path, written);
  const auto size = std::filesystem::file_size(path);
  int found = 0;
  for (std::uint64_t at = 0; at < size; at += 7) {
    test::flip_byte(path, at);
    try {
      const Checkpoint read = read_checkpoint(path);
      CHECK_MESSAGE(equal(read, written), "byte " << at);
    } catch (const Error& error) {
      CHECK(error.path() == path);
      CHECK((error.kind() == ErrorKind::kCorrupt || error.kind() == ErrorKind::kUnsupported));
      ++found;
    }
    test::flip_byte(path, at);
  }
  CHECK(found > 100);
}

TEST_CASE("checkpoint: a cut, empty, foreign or missing file is an error naming it") {
  const test::TemporaryDirectory directory;
  const auto path = directory / "x.pt";
  const auto read = [&] { read_checkpoint(path); };
  CHECK(test::kind_of_error(read) == ErrorKind::kNotFound);
  test::put(path, "");
  CHECK(test::kind_of_error(read) == ErrorKind::kCorrupt);
  test::put(path, "not a zip file at all, but long enough to hold a directory of one, perhaps");
  CHECK(test::kind_of_error(read) == ErrorKind::kCorrupt);
  write_checkpoint(path, some_checkpoint());
  test::truncate(path, std::filesystem::file_size(path) / 2);
  CHECK(test::kind_of_error(read) == ErrorKind::kCorrupt);
}

TEST_CASE("checkpoint: an unwritable target leaves the old file whole") {
  const test::TemporaryDirectory directory;
  CHECK(test::kind_of_error([&] {
          write_checkpoint(directory / "no" / "x.pt", some_checkpoint());
        }) == ErrorKind::kNotFound);
}
