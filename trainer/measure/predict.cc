#include "measure/predict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "packhorse/dataset/packed_dataset.h"

namespace packhorse::trainer {
namespace {

/// How many of `count` things a second are done when each takes `seconds`; 0: no limit.
double rate(double count, double seconds) { return seconds > 0 ? count / seconds : 0; }

double least(double a, double b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

void choose_bottleneck(Prediction& prediction) {
  const std::array<std::pair<double, const char*>, 4> bounds = {{{prediction.device, "device"},
                                                                 {prediction.cpu, "cpu"},
                                                                 {prediction.storage, "storage"},
                                                                 {prediction.latency, "latency"}}};
  prediction.images_per_s = 0;
  for (const auto& [bound, name] : bounds) {
    if (bound == 0 || (prediction.images_per_s > 0 && bound >= prediction.images_per_s)) continue;
    prediction.images_per_s = bound;
    prediction.bottleneck = name;
  }
}

Prediction predict(const ImageCosts& costs, const Machine& machine, double step_cpu_s) {
  Prediction prediction;
  const double loading_s = costs.read_cpu_s + costs.decode_cpu_s;
  prediction.cpu = rate(machine.cpus, loading_s + step_cpu_s);
  double waiting_s = 0;
  if (machine.storage) {
    const reader::StorageModel& storage = *machine.storage;
    const double line_s = storage.bytes_per_s > 0 ? costs.bytes / storage.bytes_per_s : 0;
    const double delay_s = storage.access_s + (costs.file_apart ? storage.open_s : 0);
    const double request_s = delay_s + line_s * costs.images_per_request;
    prediction.storage = least(rate(1, line_s), rate(storage.depth * costs.images_per_request,
                                                     storage.depth > 0 ? request_s : 0));
    waiting_s = delay_s + line_s;
  }
  // Other datasets are prefetched by a thread that does not wait. Here each worker waits, then
  // decodes on a core.
  if (costs.file_apart && waiting_s > 0)
    prediction.latency = rate(machine.workers, waiting_s + loading_s);
  return prediction;
}

}  // namespace

Requests requests_of(reader::OrderKind order, double samples, double sample_bytes,
                     double gap_bytes) {
  // LoaderOptions::window_bytes, and a quarter of prefetch_bytes.
  constexpr double kWindow = 256 << 20, kAhead = 8 << 20, kMost = kJoinedBytes;
  if (samples <= 0 || sample_bytes <= 0) return {};
  if (order == reader::OrderKind::kSequential ||
      (order == reader::OrderKind::kWindow && sample_bytes < kWindow)) {
    return {std::ceil(kMost / sample_bytes), sample_bytes};
  }
  // Samples requested together lie anywhere, so the lengths of gaps are geometrically distributed.
  const double density = std::clamp(kAhead / sample_bytes / samples, 1 / samples, 1.0);
  const double longest_gap = std::floor(gap_bytes / sample_bytes);  // in samples
  const double joins = 1 - std::pow(1 - density, longest_gap + 1);
  const double span = sample_bytes / density;
  Requests requests;
  requests.images = std::max(1.0, std::min(joins < 1 ? 1 / (1 - joins) : kMost, kMost / span));
  const double gap = std::min(1 / density - 1, longest_gap / 2);
  requests.bytes_per_image = sample_bytes * (1 + gap * (1 - 1 / requests.images));
  return requests;
}

Prediction predict_decoding(const ImageCosts& costs, const Machine& machine) {
  Prediction prediction = predict(costs, machine, 0);
  if (machine.workers > 0)
    prediction.cpu = rate(std::min<double>(machine.cpus, machine.workers),
                          costs.read_cpu_s + costs.decode_cpu_s);
  choose_bottleneck(prediction);
  return prediction;
}

Prediction predict_training(const ImageCosts& costs, const Machine& machine, const Epoch& epoch) {
  Prediction prediction = predict(costs, machine, machine.device_is_cpu ? costs.step_cpu_s : 0);
  prediction.device = rate(machine.devices, costs.step_s);
  choose_bottleneck(prediction);
  if (epoch.images > 0 && prediction.images_per_s > 0) {
    // The slower of loading and computing runs all the time, except during one batch of the other.
    const double loading = predict_decoding(costs, machine).images_per_s;
    const double apart_s = epoch.batch / std::max(loading, prediction.device);
    prediction.images_per_s = epoch.images / (epoch.images / prediction.images_per_s + apart_s);
  }
  return prediction;
}

}  // namespace packhorse::trainer
