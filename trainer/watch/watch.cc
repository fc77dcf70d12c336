#include "watch/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/resources.h"
#include "packhorse/trainer/watch/run_log.h"
#include "watch/advice.h"
#include "watch/event_file.h"
#include "watch/metrics_server.h"
#include "watch/step_log.h"
#include "watch/step_metrics.h"
#include "watch/trace.h"

namespace packhorse::trainer {
namespace {

/// Epochs shorter than this say little about the data: most of their time is their start.
constexpr double kTellingSeconds = 5;

StepMetrics to_metrics(const StepReport& report, const reader::LoaderCounters& loader) {
  return {.epoch = report.epoch,
          .epochs = report.epochs,
          .step = (report.epoch - 1) * report.steps + report.step,
          .epoch_step = report.step,
          .epoch_steps = report.steps,
          .loss = report.loss,
          .lr = report.lr,
          .images_per_s = report.images_per_s,
          .data_wait_share = report.data_wait_share,
          .device_memory_bytes = report.device_memory.reserved,
          .device_memory_allocated_bytes = report.device_memory.allocated,
          .loader = loader};
}

std::filesystem::path of_rank(const std::filesystem::path& path, const WatchedRun& run) {
  if (run.world == 1) return path;
  auto name = path.stem();
  name += fmt::format(".rank{}", run.rank);
  return path.parent_path() / (name += path.extension());
}

}  // namespace

struct Watch::Impl {
  Impl(const WatchOptions& options, WatchedRun watched)
      : run(std::move(watched)), more(options.more) {
    const bool files = options.files && !run.out.empty() && run.rank == 0;
    if (files) log.emplace(run.out / "steps.jsonl", run.resumed_step);
    if (files) events.emplace(run.out / "tensorboard", run.resumed_step + 1);
    if (options.metrics_port) serve(options);
    if (!options.trace.empty()) trace.emplace(of_rank(options.trace, run), options.trace_steps);
  }

  void serve(const WatchOptions& options) {
    const int port = *options.metrics_port;
    server.emplace(options.metrics_address, port == 0 ? 0 : port + run.local_rank,
                   reader::MetricLabels{{"rank", std::to_string(run.rank)}});
    tell(fmt::format("metrics are at http://{}:{}/metrics", options.metrics_address,
                     server->port()));
    server->set_more(more);
    if (!run.device.is_cuda()) return;
    if (std::shared_ptr<const Nvml> gpu = Nvml::open(pci_bus_id(run.device))) {
      server->set_gpu(gpu);
    } else {
      tell(
          "NVIDIA's management library (libnvidia-ml.so.1) is missing or does not answer: the "
          "metrics lack the GPU's utilisation");
    }
  }

  void tell(const std::string& note) const {
    if (run.note) run.note(note);
  }
  reader::LoaderCounters counters() const {
    return loader ? loader->counters() : reader::LoaderCounters{};
  }

  void advise_on(const EpochLog& log_of_epoch) {
    if (!loader) return;
    const reader::LoaderCounters now = counters();
    facts.seconds = log_of_epoch.seconds;
    facts.data_wait_share = log_of_epoch.data_wait_share;
    facts.counters = counters_between(counters_at_epoch, now);
    counters_at_epoch = now;
    if (log_of_epoch.seconds < kTellingSeconds) return;
    const auto advice = advise(facts);
    if (!advice || advice->remedy == told) return;
    told = advice->remedy;
    tell(advice->sentence);
  }

  /// Writes a step's figures for TensorBoard, and the loader's and the program's own counters by
  /// the names of their metrics.
  void show(const StepMetrics& metrics) {
    for (const Figure& figure : step_figures()) {
      const auto value = figure.tag == nullptr ? nullptr : figure.value(metrics);
      if (!value.is_null()) events->scalar(figure.tag, metrics.step, value);
    }
    const reader::LoaderMetrics of_loader{{}, metrics.loader};
    auto families = reader::loader_metrics(std::span(&of_loader, 1));
    if (more) std::ranges::move(more(), std::back_inserter(families));
    for (const reader::MetricFamily& family : families) {
      if (family.type != "counter") continue;
      for (const reader::MetricSample& sample : family.samples)
        events->scalar("counters/" + sample.name, metrics.step, sample.value);
    }
    events->flush();
  }

  void tell_of_trace(bool written) const {
    if (written) tell("the trace is written; open it at https://ui.perfetto.dev");
  }

  WatchedRun run;
  std::function<std::vector<reader::MetricFamily>()> more;
  std::optional<StepLog> log;
  std::optional<EventFile> events;
  std::optional<MetricsServer> server;
  std::optional<StepTrace> trace;
  const reader::Loader* loader = nullptr;
  LoadFacts facts;  ///< facts about the loader, filled in for each epoch
  reader::LoaderCounters counters_at_epoch;
  std::optional<Remedy> told;  ///< the advice given last
};

Watch::Watch(const WatchOptions& options, WatchedRun run)
    : impl_(std::make_unique<Impl>(options, std::move(run))) {}

Watch::~Watch() = default;

std::optional<int> Watch::metrics_port() const {
  if (!impl_->server) return std::nullopt;
  return impl_->server->port();
}

reader::StageObserver Watch::observer() const {
  return impl_->trace ? impl_->trace->observer() : reader::StageObserver{};
}

std::shared_ptr<void> Watch::loader(const reader::Loader& loader, const reader::Dataset& dataset) {
  Impl& impl = *impl_;
  impl.loader = &loader;
  impl.counters_at_epoch = loader.counters();
  impl.facts = {.workers = loader.workers(),
                .cpus = std::max(1, available_cpus() / impl.run.local_world),
                .one_file_a_sample = dataset.one_file_a_sample(),
                .image_mode = dataset.image_mode(),
                .from_afar = dataset.from_afar(),
                .gpu_decode_offered = impl.run.device.is_cuda() && !impl.run.gpu_decode};
  if (impl.server) impl.server->set_loader([&loader] { return loader.counters(); });
  return {static_cast<void*>(nullptr), [&impl](void*) {
            impl.loader = nullptr;
            if (impl.server) impl.server->set_loader({});
          }};
}

void Watch::before_step(std::int64_t step) {
  const std::int64_t first = std::max<std::int64_t>(0, impl_->run.resumed_step);
  if (impl_->trace) impl_->tell_of_trace(impl_->trace->at_step(step - first));
}

void Watch::on_step(const StepReport& report) {
  Impl& impl = *impl_;
  const StepMetrics metrics = to_metrics(report, impl.counters());
  if (impl.log) impl.log->add(metrics);
  if (impl.server) impl.server->set(metrics);
  if (impl.events) impl.show(metrics);
}

void Watch::on_epoch(const EpochLog& log) {
  Impl& impl = *impl_;
  impl.advise_on(log);
  if (impl.events) impl.events->scalar("epoch/train_loss", log.step, log.train_loss);
  if (log.scores) {
    if (impl.server) impl.server->set(ScoreMetrics{log.epoch, log.step, *log.scores});
    const auto names = score_names(log.scores->task);
    for (std::size_t i = 0; impl.events && i < names.size(); ++i)
      if (std::isfinite(log.scores->values[i]))
        impl.events->scalar("val/" + std::string(names[i].key), log.step, log.scores->values[i]);
  }
  if (impl.events) impl.events->flush();
}

void Watch::finish() {
  if (impl_->trace) impl_->tell_of_trace(impl_->trace->finish());
}

}  // namespace packhorse::trainer
