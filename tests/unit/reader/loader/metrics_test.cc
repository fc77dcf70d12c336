#include "packhorse/reader/metrics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("metrics: times are seconds, counts are whole numbers") {
  LoaderCounters counters;
  counters.samples = 1'281'167;
  counters.bytes = 140'000'000'001;
  counters.read_ns = 1'500'000'000;
  counters.batches = 7;
  counters.bad_samples = 2;
  counters.batch_wait = {
      .count = 7, .sum_ns = 3'500'000'000, .p50_ns = 0, .p99_ns = 250'000'000, .max_ns = 0};
  const std::string text = prometheus_text(counters);
  CHECK(contains(text, "\npackhorse_loader_samples_total 1281167\n"));
  CHECK(contains(text, "\npackhorse_loader_read_bytes_total 140000000001\n"));
  CHECK(contains(text, "\npackhorse_loader_read_seconds_total 1.5\n"));
  CHECK(contains(text, "\npackhorse_loader_batches_total 7\n"));
  CHECK(contains(text, "\npackhorse_loader_bad_samples_total 2\n"));
  CHECK(contains(text, "\npackhorse_loader_batch_wait_seconds{quantile=\"0.99\"} 0.25\n"));
  CHECK(contains(text, "\npackhorse_loader_batch_wait_seconds_sum 3.5\n"));
  CHECK(contains(text, "\npackhorse_loader_batch_wait_seconds_count 7\n"));
  CHECK(text.ends_with("\n"));
}

TEST_CASE("metrics: every family is told once, before its lines") {
  const LoaderMetrics loaders[] = {{{{"rank", "0"}}, {}}, {{{"rank", "1"}}, {}}};
  std::set<std::string> families;
  std::string family;
  for (const std::string& line : lines_of(prometheus_text(loader_metrics(loaders)))) {
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      CHECK(families.insert(family).second);
    } else if (line.starts_with("# TYPE ")) {
      CHECK(line.starts_with("# TYPE " + family + " "));
    } else {
      const std::string labels = "{rank=\"";
      CHECK((line.starts_with(family + labels) || line.starts_with(family + "_sum" + labels) ||
             line.starts_with(family + "_count" + labels)));
    }
  }
  CHECK(families.size() >= 8);
}

TEST_CASE("metrics: label values are escaped, label names are checked") {
  const std::string text = prometheus_text({}, {{"path", "a\"b\\c\nd"}, {"rank", "1"}});
  CHECK(contains(text, R"({path="a\"b\\c\nd",rank="1"} 0)"));
  for (const char* const name : {"", "1st", "a-b", "a b", "\xc3\xa4"})
    CHECK(kind_of_error([&] { prometheus_text({}, {{name, "x"}}); }) == ErrorKind::kUsage);
}

TEST_CASE("metrics: what is no finite number is written as Prometheus reads it") {
  const double infinity = std::numeric_limits<double>::infinity();
  const MetricFamily family{
      "loss",
      "gauge",
      "Loss.",
      {{"loss", {}, std::nan("")}, {"loss", {}, infinity}, {"loss", {}, -infinity}}};
  CHECK(prometheus_text(std::span(&family, 1)) ==
        "# HELP loss Loss.\n# TYPE loss gauge\nloss NaN\nloss +Inf\nloss -Inf\n");
}

TEST_CASE("metrics: a loader's counters are all there") {
  Loader loader(make_dataset(10), {.batch_size = 5, .workers = 1, .slots = 2});
  loader.start_epoch(0);
  while (loader.next()) {
  }
  const std::string text = prometheus_text(loader.counters());
  CHECK(contains(text, "packhorse_loader_samples_total 10\n"));
  CHECK(contains(text, "packhorse_loader_batches_total 2\n"));
}

}  // namespace packhorse::reader::test
