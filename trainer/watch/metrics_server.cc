#include "watch/metrics_server.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <mutex>
#include <optional>
#include <string_view>

#include "packhorse/base/error.h"
#include "watch/step_metrics.h"

namespace packhorse::trainer {
namespace {

using reader::MetricFamily;

// The limits of a client: docs/trainer-watch.md tells them.
constexpr unsigned kConnections = 16;        // at a time; others wait until one ends
constexpr unsigned kSilentSeconds = 10;      // a client that says nothing for so long is cut off
constexpr std::size_t kRequestBytes = 8192;  // of a request, and of the headers of its answer

/// The whole definition of a metric of the GPU: a new one is a row here.
struct GpuMetric {
  const char* name;
  const char* help;
  double (*value)(const GpuUse&);
};
constexpr auto kOfGpu = std::to_array<GpuMetric>({
    {"packhorse_gpu_utilization_ratio",
     "Share of the last moments in which a kernel ran, 0 to 1 (NVML).",
     [](const GpuUse& m) { return m.utilization; }},
    {"packhorse_gpu_memory_used_bytes", "Memory of the GPU in use by all programs (NVML).",
     [](const GpuUse& m) { return static_cast<double>(m.memory_used_bytes); }},
    {"packhorse_gpu_memory_total_bytes", "Memory of the GPU (NVML).",
     [](const GpuUse& m) { return static_cast<double>(m.memory_total_bytes); }},
});

void append(std::vector<MetricFamily>& families, const StepMetrics& metrics,
            const reader::MetricLabels& labels) {
  for (const Figure& figure : step_figures()) {
    if (figure.metric == nullptr) continue;
    families.push_back({figure.metric,
                        figure.type,
                        figure.help,
                        {{figure.metric, labels, figure.value(metrics)}}});
  }
}

void append(std::vector<MetricFamily>& families, const GpuUse& use,
            const reader::MetricLabels& labels) {
  for (const GpuMetric& metric : kOfGpu) {
    families.push_back(
        {metric.name, "gauge", metric.help, {{metric.name, labels, metric.value(use)}}});
  }
}

void append(std::vector<MetricFamily>& families, const Scores& scores,
            const reader::MetricLabels& labels) {
  const auto names = score_names(scores.task);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!std::isfinite(scores.values.at(i))) continue;
    const std::string name =
        "packhorse_train_val_" + std::string(names[i].key) + (names[i].percent ? "_percent" : "");
    families.push_back(
        {name, "gauge", std::string(names[i].help), {{name, labels, scores.values[i]}}});
  }
}

}  // namespace

class MetricsServer::Metrics {
 public:
  explicit Metrics(reader::MetricLabels labels) : labels_(std::move(labels)) {}

  std::vector<MetricFamily> collect() const {
    const std::scoped_lock lock(mutex_);
    std::vector<MetricFamily> families;
    if (steps_) append(families, *steps_, labels_);
    if (scores_) append(families, scores_->scores, labels_);
    if (const auto use = gpu_ ? gpu_->read() : std::nullopt) append(families, *use, labels_);
    if (source_ || steps_) {
      const reader::LoaderMetrics loader{labels_, source_ ? source_() : steps_->loader};
      std::ranges::move(reader::loader_metrics(std::span(&loader, 1)),
                        std::back_inserter(families));
    }
    if (!more_) return families;
    for (MetricFamily& family : more_()) {
      for (reader::MetricSample& sample : family.samples) sample.labels = labels_;
      families.push_back(std::move(family));
    }
    return families;
  }

  template <class Change>
  void change(const Change& change) {
    const std::scoped_lock lock(mutex_);
    change(*this);
  }

  /// libmicrohttpd's handler: called in its thread, first with a request's headers, then at its
  /// end.
  static MHD_Result answer(void* metrics, MHD_Connection* connection, const char* url,
                           const char* method, const char*, const char*, std::size_t*, void**) {
    unsigned status = MHD_HTTP_OK;
    std::string text;
    if (std::string_view(url) != "/metrics") {
      status = MHD_HTTP_NOT_FOUND;
    } else if (std::string_view(method) != MHD_HTTP_METHOD_GET) {
      status = MHD_HTTP_METHOD_NOT_ALLOWED;
    } else {
      try {
        text = reader::prometheus_text(static_cast<const Metrics*>(metrics)->collect());
      } catch (const std::exception& error) {
        status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        text = error.what();
      }
    }
    const std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)> response(
        MHD_create_response_from_buffer(text.size(), text.data(), MHD_RESPMEM_MUST_COPY),
        MHD_destroy_response);
    if (!response) return MHD_NO;
    MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONNECTION, "close");
    MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONTENT_TYPE,
                            "text/plain; version=0.0.4; charset=utf-8");
    return MHD_queue_response(connection, status, response.get());
  }

  const reader::MetricLabels labels_;
  std::optional<StepMetrics> steps_;
  std::optional<ScoreMetrics> scores_;
  std::function<reader::LoaderCounters()> source_;
  std::shared_ptr<const Nvml> gpu_;
  std::function<std::vector<MetricFamily>()> more_;

 private:
  mutable std::mutex mutex_;
};

struct MetricsServer::Impl {
  std::unique_ptr<MHD_Daemon, decltype(&MHD_stop_daemon)> daemon{nullptr, MHD_stop_daemon};
};

MetricsServer::MetricsServer(const std::string& address, int port, reader::MetricLabels labels)
    : metrics_(std::make_shared<Metrics>(std::move(labels))), impl_(new Impl) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::kExists,
                fmt::format("cannot serve metrics at {}:{}: {}", address, port, why), {},
                "another program may be using that port: choose another `metrics_port=` (0 takes a "
                "free one); `metrics_address=` must be an address of this machine");
  };
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) refuse(::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> where(found, ::freeaddrinfo);
  unsigned flags = MHD_USE_AUTO_INTERNAL_THREAD;
  if (where->ai_family == AF_INET6) flags |= MHD_USE_IPv6;
  errno = 0;
  impl_->daemon.reset(MHD_start_daemon(
      flags, 0, nullptr, nullptr, Metrics::answer, metrics_.get(), MHD_OPTION_SOCK_ADDR,
      where->ai_addr, MHD_OPTION_CONNECTION_LIMIT, kConnections, MHD_OPTION_CONNECTION_TIMEOUT,
      kSilentSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kRequestBytes, MHD_OPTION_END));
  if (!impl_->daemon) refuse(errno == 0 ? "it cannot be opened" : std::strerror(errno));
}

MetricsServer::~MetricsServer() = default;

int MetricsServer::port() const {
  return MHD_get_daemon_info(impl_->daemon.get(), MHD_DAEMON_INFO_BIND_PORT)->port;
}

void MetricsServer::set(const StepMetrics& metrics) {
  metrics_->change([&](Metrics& all) { all.steps_ = metrics; });
}

void MetricsServer::set(const ScoreMetrics& metrics) {
  metrics_->change([&](Metrics& all) { all.scores_ = metrics; });
}

void MetricsServer::set_loader(std::function<reader::LoaderCounters()> source) {
  metrics_->change([&](Metrics& all) { all.source_ = std::move(source); });
}

void MetricsServer::set_gpu(std::shared_ptr<const Nvml> gpu) {
  metrics_->change([&](Metrics& all) { all.gpu_ = std::move(gpu); });
}

void MetricsServer::set_more(std::function<std::vector<MetricFamily>()> more) {
  metrics_->change([&](Metrics& all) { all.more_ = std::move(more); });
}

}  // namespace packhorse::trainer
