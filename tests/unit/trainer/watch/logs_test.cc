#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "support/support.h"
#include "watch/event_file.h"
#include "watch/step_log.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

std::vector<std::int64_t> steps_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::int64_t> steps;
  for (std::string line; std::getline(file, line);) {
    steps.push_back(nlohmann::json::parse(line).at("step").get<std::int64_t>());
  }
  return steps;
}

StepMetrics at_step(std::int64_t step) { return {.epoch = 1, .step = step, .loss = 2.5}; }

}  // namespace

TEST_CASE("event file: CRC-32C gives the values of RFC 3720") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aaU);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43U);
  CHECK(crc32c("123456789") == 0xe3069283U);
}

TEST_CASE("event file: begins with a version record as TensorFlow writes it") {
  const test::TemporaryDirectory directory;
  const EventFile events(directory / "tensorboard");
  const std::string text = read_text(events.path());
  // length 24: time (9), step (2), version (15, with 13 bytes of text) is 26
  CHECK(text.substr(0, 8) == std::string("\x1a\0\0\0\0\0\0\0", 8));
  CHECK(text.substr(12, 1) == "\x09");
  CHECK(text.substr(25, 13) == "brain.Event:2");
}

TEST_CASE("event file: each file sorts behind those that are there") {
  const test::TemporaryDirectory directory;
  const EventFile one(directory.path()), two(directory.path(), 7), three(directory.path(), 9);
  CHECK(one.path().string() < two.path().string());
  CHECK(two.path().string() < three.path().string());
}

TEST_CASE("event file: a full disk is an error with the file's name") {
  if (!std::filesystem::exists("/dev/full")) return;
  const test::TemporaryDirectory directory;
  test::put(directory / "blocked", "a file where the directory should be");
  CHECK_THROWS(EventFile(directory / "blocked"));
}

TEST_CASE("step log: a line a report, with the loader's figures") {
  const test::TemporaryDirectory directory;
  StepMetrics metrics = at_step(20);
  metrics.loader.samples = 640;
  metrics.loader.decode_ns = 1'500'000'000;
  StepLog(directory / "steps.jsonl").add(metrics);
  const auto line = nlohmann::json::parse(read_text(directory / "steps.jsonl"));
  CHECK(line.at("loss") == 2.5);
  CHECK(line.at("loader").at("samples") == 640);
  CHECK(line.at("loader").at("decode_seconds") == 1.5);
  CHECK(line.at("loader").at("bad_samples").is_number_integer());
}

TEST_CASE("step log: a resumed run goes on behind its step, without what came later") {
  const test::TemporaryDirectory directory;
  const auto path = directory / "steps.jsonl";
  {
    StepLog log(path);
    for (const int step : {10, 20, 30, 40}) log.add(at_step(step));
  }
  SUBCASE("in the middle") {
    StepLog(path, 20).add(at_step(25));
    CHECK(steps_in(path) == std::vector<std::int64_t>{10, 20, 25});
  }
  SUBCASE("after a cut line") {
    test::truncate(path, std::filesystem::file_size(path) - 1);
    StepLog(path, 100).add(at_step(110));
    CHECK(steps_in(path) == std::vector<std::int64_t>{10, 20, 30, 110});
  }
  SUBCASE("where the file is gone") {
    std::filesystem::remove(path);
    StepLog(path, 20).add(at_step(25));
    CHECK(steps_in(path) == std::vector<std::int64_t>{25});
  }
  SUBCASE("a new run") {
    StepLog(path).add(at_step(1));
    CHECK(steps_in(path) == std::vector<std::int64_t>{1});
  }
}

TEST_CASE("step log: a full disk is an error") {
  if (!std::filesystem::exists("/dev/full")) return;
  StepLog log("/dev/full");
  CHECK(test::kind_of_error([&] { log.add(at_step(1)); }) == ErrorKind::kNoSpace);
}
