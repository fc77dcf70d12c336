#include "watch/metrics_server.h"

#include "http_client.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

std::string scrape(int port) { return test::HttpClient(port).ask("GET /metrics HTTP/1.0\r\n\r\n"); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class FixedGpu final : public Nvml {
 public:
  std::optional<GpuUse> read() const override {
    return GpuUse{.utilization = 0.75, .memory_used_bytes = 100, .memory_total_bytes = 200};
  }
};

}  // namespace

TEST_CASE("metrics server: serves what it is told, labelled, at a port of its own") {
  MetricsServer server("127.0.0.1", 0, {{"rank", "3"}});
  CHECK(server.port() > 0);
  CHECK_FALSE(contains(scrape(server.port()), "packhorse_train_loss"));
  server.set(StepMetrics{.step = 20, .loss = 2.5, .data_wait_share = 0.25});
  std::string text = scrape(server.port());
  CHECK(contains(text, "\npackhorse_train_steps_total{rank=\"3\"} 20\n"));
  CHECK(contains(text, "\npackhorse_train_loss{rank=\"3\"} 2.5\n"));
  CHECK_FALSE(contains(text, "packhorse_train_val_loss"));
  CHECK_FALSE(contains(text, "packhorse_gpu"));
  server.set(
      ScoreMetrics{.epoch = 1, .step = 20, .scores = {TaskKind::kClassify, 9, {55.5, 90, 1}}});
  server.set_gpu(std::make_shared<FixedGpu>());
  text = scrape(server.port());
  CHECK(contains(text, "\npackhorse_train_val_top1_percent{rank=\"3\"} 55.5\n"));
  CHECK(contains(text, "\npackhorse_gpu_utilization_ratio{rank=\"3\"} 0.75\n"));
}

TEST_CASE("metrics server: every family of the reader is there under its name") {
  MetricsServer server("127.0.0.1", 0);
  reader::LoaderCounters counters;
  counters.batch_wait = {
      .count = 4, .sum_ns = 2'000'000'000, .p50_ns = 0, .p99_ns = 1, .max_ns = 1};
  server.set_loader([&] { return counters; });
  const std::string text = scrape(server.port());
  const reader::LoaderMetrics loader{{}, counters};
  for (const auto& family : reader::loader_metrics(std::span(&loader, 1))) {
    CHECK(contains(text, "# TYPE " + family.name + " " + family.type + "\n"));
    CHECK(contains(text, "# HELP " + family.name + " " + family.help + "\n"));
    for (const auto& sample : family.samples) CHECK(contains(text, "\n" + sample.name));
  }
  CHECK(contains(text, "\npackhorse_loader_batch_wait_seconds_sum 2\n"));
  CHECK(contains(text, "\npackhorse_loader_batch_wait_seconds_count 4\n"));
  CHECK(contains(text, "packhorse_loader_batch_wait_seconds{quantile=\"0.99\"} "));
}

TEST_CASE("metrics server: asks the loader at each scrape, and never after it is taken away") {
  MetricsServer server("127.0.0.1", 0);
  reader::LoaderCounters counters;
  server.set(StepMetrics{});
  server.set_loader([&] {
    ++counters.samples;
    return counters;
  });
  CHECK(contains(scrape(server.port()), "\npackhorse_loader_samples_total 1\n"));
  CHECK(contains(scrape(server.port()), "\npackhorse_loader_samples_total 2\n"));
  server.set_loader({});
  CHECK(contains(scrape(server.port()), "\npackhorse_loader_samples_total 0\n"));
  CHECK(counters.samples == 2);
}

TEST_CASE("metrics server: a port in use and a foreign address are errors that say what to do") {
  const MetricsServer server("127.0.0.1", 0);
  try {
    const MetricsServer second("127.0.0.1", server.port());
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kExists);
    CHECK(contains(error.what(), std::to_string(server.port())));
    CHECK(contains(error.advice(), "`metrics_port="));
  }
  CHECK(test::kind_of_error([] { const MetricsServer foreign("192.0.2.1", 0); }) ==
        ErrorKind::kExists);
}

TEST_CASE("metrics server: answers one path by GET, and says what else is wrong") {
  const MetricsServer server("localhost", 0);
  const auto status = [&](const char* request) {
    return test::HttpClient(server.port()).ask(request).substr(9, 3);
  };
  CHECK(status("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n") == "200");
  CHECK(status("GET /metrics?a=b HTTP/1.0\r\n\r\n") == "200");
  CHECK(status("GET /other HTTP/1.0\r\n\r\n") == "404");
  CHECK(status("POST /metrics HTTP/1.0\r\n\r\n") == "405");
}

TEST_CASE("metrics server: figures that cannot be had are an error, and the next ones come") {
  MetricsServer server("127.0.0.1", 0);
  int asked = 0;
  server.set_more([&]() -> std::vector<reader::MetricFamily> {
    if (++asked == 1) throw std::runtime_error("no figures");
    return {};
  });
  CHECK(contains(scrape(server.port()), " 500 "));
  CHECK(contains(scrape(server.port()), " 200 "));
}

TEST_CASE("metrics server: a client without an end delays neither others nor the server's end") {
  auto server = std::make_unique<MetricsServer>("127.0.0.1", 0);
  const test::HttpClient slow(server->port());
  REQUIRE(slow.send("GET /metrics HTTP/1.1\r\nHost: "));
  CHECK(contains(scrape(server->port()), " 200 "));
  server.reset();  // a server that waits for the client would hang here
  CHECK(slow.receive().empty());
}

TEST_CASE("metrics server: headers beyond the bound end the request") {
  const MetricsServer server("127.0.0.1", 0);
  const test::HttpClient much(server.port());
  bool open = much.send("GET /metrics HTTP/1.1\r\n");
  for (int lines = 0; open && lines < 10'000'000; ++lines) open = much.send("a: b\r\n");
  CHECK_FALSE(open);
}

TEST_CASE("metrics server: more clients than it takes at a time wait until others have gone") {
  const MetricsServer server("127.0.0.1", 0);
  std::vector<std::unique_ptr<test::HttpClient>> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(std::make_unique<test::HttpClient>(server.port()));
  const test::HttpClient last(server.port());
  REQUIRE(last.send("GET /metrics HTTP/1.0\r\n\r\n"));
  idle.clear();
  CHECK(contains(last.receive(), " 200 "));
}

TEST_CASE("nvml: a GPU that is not there is none") { CHECK(Nvml::open("ffff:ff:1f.0") == nullptr); }
