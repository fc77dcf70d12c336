#include "packhorse/trainer/watch/metrics_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "packhorse/base/error.h"
#include "watch/http_server.h"

namespace packhorse::trainer {
namespace {

using reader::MetricFamily;

constexpr const char* kCounter = "counter";
constexpr const char* kGauge = "gauge";

/// The whole definition of a metric: a new one is a line in one of these lists.
template <class Figures>
struct Metric {
  const char* name;
  const char* type;
  const char* help;
  double (*value)(const Figures&);
};

constexpr auto kOfSteps = std::to_array<Metric<StepMetrics>>({
    {"packhorse_train_steps_total", kCounter, "Steps done in the whole run.",
     [](const StepMetrics& m) { return static_cast<double>(m.step); }},
    {"packhorse_train_epoch", kGauge, "The running epoch, counted from 1.",
     [](const StepMetrics& m) { return static_cast<double>(m.epoch); }},
    {"packhorse_train_epochs", kGauge, "Epochs of the whole run.",
     [](const StepMetrics& m) { return static_cast<double>(m.epochs); }},
    {"packhorse_train_epoch_progress_ratio", kGauge, "Share of the epoch done, 0 to 1.",
     [](const StepMetrics& m) {
       return m.epoch_steps > 0 ? static_cast<double>(m.epoch_step) / double(m.epoch_steps) : 0;
     }},
    {"packhorse_train_loss", kGauge, "Mean training loss of the last steps.",
     [](const StepMetrics& m) { return m.loss; }},
    {"packhorse_train_learning_rate", kGauge, "Learning rate of the last step.",
     [](const StepMetrics& m) { return m.lr; }},
    {"packhorse_train_images_per_second", kGauge,
     "Images trained on a second, by all processes together.",
     [](const StepMetrics& m) { return m.images_per_s; }},
    {"packhorse_train_data_wait_ratio", kGauge,
     "Share of the time that training waited for data, 0 to 1.",
     [](const StepMetrics& m) { return m.data_wait_share; }},
    {"packhorse_train_device_memory_bytes", kGauge,
     "Most memory of the device that LibTorch had reserved at once, its cache included; 0 on the "
     "CPU.",
     [](const StepMetrics& m) { return static_cast<double>(m.device_memory_bytes); }},
    {"packhorse_train_device_memory_allocated_bytes", kGauge,
     "Most memory of the device that tensors had in use at once; 0 on the CPU.",
     [](const StepMetrics& m) { return static_cast<double>(m.device_memory_allocated_bytes); }},
});

constexpr auto kOfGpu = std::to_array<Metric<GpuUse>>({
    {"packhorse_gpu_utilization_ratio", kGauge,
     "Share of the last moments in which a kernel ran, 0 to 1 (NVML).",
     [](const GpuUse& m) { return m.utilization; }},
    {"packhorse_gpu_memory_used_bytes", kGauge, "Memory of the GPU in use by all programs (NVML).",
     [](const GpuUse& m) { return static_cast<double>(m.memory_used_bytes); }},
    {"packhorse_gpu_memory_total_bytes", kGauge, "Memory of the GPU (NVML).",
     [](const GpuUse& m) { return static_cast<double>(m.memory_total_bytes); }},
});

template <class List, class Figures>
void append(std::vector<MetricFamily>& families, const List& list, const Figures& figures,
            const reader::MetricLabels& labels) {
  for (const auto& metric : list) {
    families.push_back(
        {metric.name, metric.type, metric.help, {{metric.name, labels, metric.value(figures)}}});
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
        {name, kGauge, std::string(names[i].help), {{name, labels, scores.values[i]}}});
  }
}

}  // namespace

class MetricsServer::Metrics {
 public:
  explicit Metrics(reader::MetricLabels labels) : labels_(std::move(labels)) {}

  std::vector<MetricFamily> collect() const {
    const std::scoped_lock lock(mutex_);
    std::vector<MetricFamily> families;
    if (steps_) append(families, kOfSteps, *steps_, labels_);
    if (scores_) append(families, scores_->scores, labels_);
    if (const auto use = gpu_ ? gpu_->read() : std::nullopt) {
      append(families, kOfGpu, *use, labels_);
    }
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
  HttpServer http;
};

MetricsServer::MetricsServer(const std::string& address, int port, reader::MetricLabels labels) try
    : metrics_(std::make_shared<Metrics>(std::move(labels))),
      impl_(new Impl{
          .http = HttpServer(
              address, port, "/metrics", "text/plain; version=0.0.4; charset=utf-8",
              [metrics = metrics_] { return reader::prometheus_text(metrics->collect()); })}) {
} catch (const std::runtime_error& error) {
  throw Error(ErrorKind::kExists,
              fmt::format("cannot serve metrics at {}:{}: {}", address, port, error.what()), {},
              "another program may be using that port: choose another --metrics-port (0 takes a "
              "free one); --metrics-address must be an address of this machine");
}

MetricsServer::~MetricsServer() = default;

int MetricsServer::port() const { return impl_->http.port(); }

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
