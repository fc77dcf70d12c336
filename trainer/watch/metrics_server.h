#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "packhorse/reader/metrics.h"
#include "watch/nvml.h"
#include "watch/step_metrics.h"

namespace packhorse::trainer {

/// Answers Prometheus at http://ADDRESS:PORT/metrics, from a thread of its own, until it is
/// destroyed. Its destructor waits for no client:
///
///     MetricsServer server("127.0.0.1", 9400, {{"rank", "0"}});
///     server.set_loader([&] { return loader.counters(); });   // asked at each scrape
///     server.set(step_metrics);
///     server.set_loader({});                                  // before the loader goes
///
/// docs/reference/metrics.md lists them; those of the loader are reader::loader_metrics().
/// Thread-safe.
class MetricsServer {
 public:
  /// `port` 0: any free port. Every metric gets `labels`. Throws Error(kExists) when it cannot
  /// serve: the port is in use, or the address is not one of this machine's.
  MetricsServer(const std::string& address, int port, reader::MetricLabels labels = {});
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  int port() const;

  void set(const StepMetrics& metrics);
  void set(const ScoreMetrics& metrics);
  /// Sets where the loader's counters come from; `source` must be thread-safe. Without one, the
  /// loader's figures of the last StepMetrics stay. Returns when no scrape is using the old source
  /// any more.
  void set_loader(std::function<reader::LoaderCounters()> source);
  void set_gpu(std::shared_ptr<const Nvml> gpu);
  /// Asked for more metrics at each scrape; must be thread-safe.
  void set_more(std::function<std::vector<reader::MetricFamily>()> more);

 private:
  class Metrics;
  struct Impl;
  std::shared_ptr<Metrics> metrics_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace packhorse::trainer
