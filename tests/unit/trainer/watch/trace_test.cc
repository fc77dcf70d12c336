#include "watch/trace.h"

#include <ATen/ops/ones.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/file.h"
#include "device/ranges.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

std::multiset<std::string> names_in(const std::filesystem::path& path) {
  const auto trace = nlohmann::json::parse(read_text(path));
  std::multiset<std::string> names;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") names.insert(event.value("name", ""));
  }
  return names;
}

/// Runs steps of some arithmetic, each with a range, and a "loader" thread that reports its work.
void work(StepTrace& trace, int steps) {
  for (int step = 0; step < steps; ++step) {
    trace.at_step(step);
    const Range range("forward");
    const auto y = at::ones({8, 8}).matmul(at::ones({8, 8}));
    std::thread([observe = trace.observer()] {
      const auto now = std::chrono::steady_clock::now();
      observe(reader::Stage::kDecode, now, now + std::chrono::microseconds(5));
    }).join();
  }
}

}  // namespace

TEST_CASE("step span: a count, or first and end") {
  CHECK(StepSpan::parse("10") == StepSpan{.begin = 5, .end = 15});
  CHECK(StepSpan::parse("20:30") == StepSpan{.begin = 20, .end = 30});
  CHECK(StepSpan::parse("0:1") == StepSpan{.begin = 0, .end = 1});
  for (const char* text : {"", "x", "0", "-3", "5:5", "9:2", "1:2:3", "3:", ":4", "1.5"}) {
    CAPTURE(text);
    CHECK(test::kind_of_error([&] { StepSpan::parse(text); }) == ErrorKind::kUsage);
  }
}

TEST_CASE("trace: holds the operators, ranges and loader events of its steps alone") {
  const test::TemporaryDirectory directory;
  const auto path = directory / "traces/t.json";
  {
    StepTrace trace(path, {.begin = 1, .end = 3});
    work(trace, 5);
    CHECK_FALSE(trace.finish());
  }
  const auto names = names_in(path);
  CHECK(names.count("forward") == 2);
  CHECK(names.count("decode") == 2);
  CHECK(names.count("aten::matmul") == 2);
}

TEST_CASE("trace: events of the loader lie among those of the steps") {
  const test::TemporaryDirectory directory;
  const auto path = directory / "t.json";
  StepTrace trace(path, {.begin = 0, .end = 3});
  work(trace, 4);
  const auto json = nlohmann::json::parse(read_text(path));
  double first = 1e300, last = 0;
  std::vector<double> loader;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "X" || event.contains("error")) continue;
    const double ts = event.at("ts");
    if (event.value("name", "") == "forward") {
      first = std::min(first, ts);
      last = std::max(last, ts + event.at("dur").get<double>());
    }
    if (event.value("cat", "") == "loader") loader.push_back(ts);
  }
  REQUIRE(loader.size() == 3);
  for (const double ts : loader) {
    CHECK(ts > first - 1000);  // clocks agree within a millisecond
    CHECK(ts < last + 1000);
  }
}

TEST_CASE("trace: what was begun is written when training ends early, and can follow another") {
  const test::TemporaryDirectory directory;
  {
    StepTrace trace(directory / "a.json", {.begin = 0, .end = 100});
    work(trace, 2);
    CHECK(trace.finish());
    CHECK_FALSE(trace.finish());
  }
  CHECK(names_in(directory / "a.json").count("forward") == 2);
  {
    StepTrace abandoned(directory / "b.json", {.begin = 0, .end = 100});
    work(abandoned, 1);
  }
  CHECK_FALSE(std::filesystem::exists(directory / "b.json"));
  StepTrace again(directory / "c.json", {.begin = 0, .end = 1});
  work(again, 2);
  CHECK(names_in(directory / "c.json").count("forward") == 1);
}
