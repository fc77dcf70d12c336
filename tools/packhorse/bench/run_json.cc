#include <algorithm>
#include <iterator>

#include "base/printable.h"
#include "bench/request.h"
#include "bench/run.h"
#include "common/remote.h"
#include "common/storage.h"
#include "common/terminal.h"
#include "packhorse/reader/metrics.h"

namespace packhorse::bench {

using program::Json;
using reader::Measurement;

namespace {

double over(double value, double by) { return by > 0 ? value / by : 0; }

Json stages_json(const Run& run) {
  const Stages stages = stages_of(run);
  const auto samples = static_cast<double>(run.median_pass().counters.samples);
  const auto each = [&](auto figure) {
    return Json{{"read", figure(stages.read)},
                {"decode", figure(stages.decode)},
                {"slot_wait", figure(stages.slot_wait)},
                {"rest", figure(stages.rest)}};
  };
  return {{"read_s", stages.read},
          {"decode_s", stages.decode},
          {"slot_wait_s", stages.slot_wait},
          {"consumer_wait_s", stages.consumer_wait},
          {"rest_s", stages.rest},
          {"us_per_image", each([&](double s) { return 1e6 * over(s, samples); })},
          {"share", each([&](double s) { return over(s, stages.total()); })}};
}

Json remote_json(const RemoteCounters& pass) {
  return {{"requests", pass.storage.requests},
          {"retries", pass.storage.retries},
          {"bytes", pass.storage.bytes},
          {"runs_fetched", pass.runs_fetched},
          {"runs_cached", pass.runs_found},
          {"damaged", pass.damaged},
          {"wait_s", static_cast<double>(pass.wait_ns) * 1e-9}};
}

Json run_json(const Request& request, const Run& run) {
  const reader::Spread rate = run.rate();
  const Measurement& pass = run.median_pass();
  Json json = {
      {"input", run.input},
      {"format", run.format},
      {"image", run.image},
      {"work", name_of(run.section.work)},
      {"cache", place_of(run.section)},
      {"order", reader::name_of(run.order)},
      {"workers", run.workers},
      {"batch_size", request.loader.batch_size},
      {"images", pass.images},
      {"images_per_s", {{"min", rate.min}, {"median", rate.median}, {"max", rate.max}}},
      {"images_per_cpu_s", over(static_cast<double>(pass.images), pass.cpu_s)},
      {"bytes", pass.bytes},
      {"disk_bytes", pass.disk_bytes},
      {"first_batch_s", pass.first_batch_s},
      {"batch_ms",
       {{"p50", reader::percentile(pass.batch_ms, 0.5)},
        {"p99", reader::percentile(pass.batch_ms, 0.99)}}},
      {"stages", stages_json(run)},
      {"shuffle", {{"neighbours", pass.shuffle.neighbours}, {"classes", pass.shuffle.classes}}},
      {"prefetched_bytes", pass.counters.prefetched_bytes},
      {"bad_samples", pass.counters.bad_samples},
      {"dataset_images", run.samples},
      {"seconds", pass.seconds},
      {"cpu_s", pass.cpu_s}};
  if (run.section.work == reader::Work::kDecode) {
    const reader::ImageSize size = size_of(request.augment, request.size);
    json["augment"] = request.augment;
    if (!request.pixel_steps.empty()) json["pixel_steps"] = text_of(request.pixel_steps);
    json["size"] = {{"height", size.height}, {"width", size.width}};
  }
  if (request.targets) json["objects"] = pass.objects;
  for (const RemoteCounters& fetched : run.remote) json["remote"].push_back(remote_json(fetched));
  if (run.section.cache == reader::CacheState::kCold)
    json["names_dropped"] = reader::can_drop_names();
  if (run.section.storage) json["storage"] = program::delays_json(*run.section.storage);
  return json;
}

Json knee_json(const RunKnee& found) {
  return {{"input", found.run->input},
          {"work", name_of(found.run->section.work)},
          {"cache", place_of(found.run->section)},
          {"workers", found.knee.workers},
          {"images_per_s", found.knee.images_per_s},
          {"best_workers", found.knee.best_workers},
          {"best_images_per_s", found.knee.best_per_s},
          {"still_rising", found.knee.still_rising},
          {"reason", found.reason}};
}

}  // namespace

Json report_json(const Request& request, const std::vector<Run>& runs) {
  Json list = Json::array(), knees = Json::array();
  for (const Run& run : runs) list.push_back(run_json(request, run));
  for (const RunKnee& knee : knees_of(runs)) knees.push_back(knee_json(knee));
  return {{"machine", program::machine_json()},
          {"repeats", request.repeats},
          {"runs", list},
          {"knee", knees}};
}

std::string metrics_text(const Request& request, const std::vector<Run>& runs) {
  std::vector<reader::LoaderMetrics> loaders;
  for (const Run& run : runs) {
    loaders.push_back({{{"input", printable(run.input)},
                        {"format", run.format},
                        {"work", name_of(run.section.work)},
                        {"cache", place_of(run.section)},
                        {"order", std::string(reader::name_of(run.order))},
                        {"workers", std::to_string(run.workers)}},
                       run.median_pass().counters});
  }
  std::vector<reader::MetricFamily> families = reader::loader_metrics(loaders);
  if (request.from_afar) std::ranges::move(program::remote_metrics(), std::back_inserter(families));
  return reader::prometheus_text(families);
}

}  // namespace packhorse::bench
