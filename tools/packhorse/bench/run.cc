#include "bench/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "base/printable.h"
#include "base/resources.h"
#include "base/stop.h"
#include "common/terminal.h"
#include "packhorse/base/error.h"

namespace packhorse::bench {

using program::with_commas;
using reader::CacheState;
using reader::Dataset;
using reader::Measurement;

namespace {

constexpr double kBusy = 0.9;    // of the CPUs; more threads then have nothing to run on
constexpr double kMostly = 0.5;  // of the workers' time

bool same(const Section& a, const Section& b) {
  return a.work == b.work && place_of(a) == place_of(b);
}

/// The datasets of a section. A cold pass opens its input itself, since an input that is still
/// mapped would stay in memory.
class OpenInputs {
 public:
  OpenInputs(const Request& request, const Section& section)
      : request_(request), keep_(section.cache != CacheState::kCold) {}

  std::shared_ptr<const Dataset> open(const std::string& input) {
    if (!keep_) return open_now(input);
    std::shared_ptr<const Dataset>& dataset = open_[input];
    if (!dataset) dataset = open_now(input);
    return dataset;
  }

 private:
  /// Takes odd classes, since only reading and decoding are measured, not labels.
  std::shared_ptr<const Dataset> open_now(const std::string& input) const {
    return Dataset::open(input, request_.split, reader::OddClasses::kTake);
  }

  const Request& request_;
  bool keep_;
  std::map<std::string, std::shared_ptr<const Dataset>> open_;
};

std::vector<Run> planned(const Request& request, const Section& section, OpenInputs& inputs) {
  std::vector<Run> runs;
  for (const std::string& input : request.inputs) {
    const auto dataset = inputs.open(input);
    const reader::OrderKind order = request.usual_order
                                        ? reader::usual_order(*dataset, request.loader.sampling)
                                        : request.loader.order;
    for (const int workers : workers_of(request)) {
      runs.push_back({input,
                      dataset->format(),
                      dataset->image_mode(),
                      dataset->size(),
                      section,
                      order,
                      workers,
                      {},
                      {}});
    }
  }
  return runs;
}

Measurement measure_pass(std::shared_ptr<const Dataset> dataset, const Section& section,
                         reader::MeasureOptions options) {
  if (!section.storage) return reader::measure(dataset, options);
  const auto storage = std::make_shared<reader::SimulatedStorage>(*section.storage);
  options.disk_bytes = [&] { return storage->bytes(); };
  return reader::measure(reader::on_simulated_storage(std::move(dataset), storage), options);
}

std::vector<Run> measure_section(const Request& request, const Section& section,
                                 const program::StatusLine& note) {
  OpenInputs inputs(request, section);
  std::vector<Run> runs = planned(request, section, inputs);
  for (int repeat = 0; repeat < request.repeats; ++repeat) {
    for (Run& run : runs) {
      note.show(
          fmt::format("{}, {}: repeat {} of {}: {}, {}", name_of(section.work), place_of(section),
                      repeat + 1, request.repeats, program::one_line(run.input, 40),
                      program::count_text(static_cast<std::uint64_t>(run.workers), "worker")));
      reader::MeasureOptions options = options_of(request, section, run.order, run.workers, repeat);
      options.stop = current_stop();
      const auto dataset = inputs.open(run.input);
      const RemoteCounters before = remote_counters();
      run.passes.push_back(measure_pass(dataset, section, options));
      if (request.from_afar) run.remote.push_back(remote_counters() - before);
    }
  }
  return runs;
}

/// Why more workers than at the knee bring nothing.
std::string limit_text(const Run& run, const reader::Knee& knee) {
  if (knee.still_rising)
    return "still rising at the most workers tried: the knee may be beyond them";
  const Measurement& pass = run.median_pass();
  const double busy = pass.seconds > 0 ? pass.cpu_s / pass.seconds : 0;
  const int cpus = available_cpus();
  const std::string used = fmt::format("{:.1f} of {} CPUs are busy", busy, cpus);
  if (busy >= kBusy * cpus) return used + ": the processor is the limit";
  const Stages stages = stages_of(run);
  const bool from_storage = run.section.cache == CacheState::kCold || run.section.storage;
  if (from_storage && stages.read >= kMostly * stages.total())
    return used + ", and workers wait for reading: the storage is the limit";
  const double foreign = pass.load.foreign_cpus.value_or(0);
  if (busy + foreign >= kBusy * cpus)
    return fmt::format("{}, other processes use {:.1f}: the processor is the limit", used, foreign);
  return used + ", and more workers gain less than 5 %";
}

std::string reason_of(const Run& run, const reader::Knee& knee) {
  const std::string workers =
      program::count_text(static_cast<std::uint64_t>(knee.workers), "worker");
  const auto rate = [](double per_s) {
    return with_commas(static_cast<std::uint64_t>(per_s + 0.5));
  };
  std::string share;
  if (knee.best_workers != knee.workers) {
    share = fmt::format(", {:.0f} % of the best ({} with {})",
                        100 * knee.images_per_s / knee.best_per_s, rate(knee.best_per_s),
                        knee.best_workers);
  }
  return fmt::format("{}: {} img/s{}; {}", workers, rate(knee.images_per_s), share,
                     limit_text(run, knee));
}

}  // namespace

reader::Spread Run::rate() const {
  std::vector<double> rates;
  for (const Measurement& pass : passes) rates.push_back(pass.images_per_s());
  return reader::spread_of(std::move(rates));
}

const Measurement& Run::median_pass() const {
  std::vector<const Measurement*> by_rate;
  for (const Measurement& pass : passes) by_rate.push_back(&pass);
  std::ranges::sort(by_rate, [](const Measurement* a, const Measurement* b) {
    return a->images_per_s() < b->images_per_s();
  });
  return *by_rate[by_rate.size() / 2];
}

Stages stages_of(const Run& run) {
  const Measurement& pass = run.median_pass();
  const auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
  Stages stages{.read = seconds(pass.counters.read_ns),
                .decode = seconds(pass.counters.decode_ns),
                .slot_wait = seconds(pass.counters.slot_wait_ns),
                .consumer_wait = seconds(pass.counters.consumer_wait_ns)};
  const double threads = std::max(1, run.workers);
  stages.rest = std::max(0.0, threads * pass.seconds - stages.total());
  return stages;
}

std::vector<const Run*> runs_in(const std::vector<Run>& runs, const Section& section) {
  std::vector<const Run*> found;
  for (const Run& run : runs)
    if (same(run.section, section)) found.push_back(&run);
  return found;
}

std::vector<Run> measure_all(const Request& request) {
  const program::StatusLine note(request.quiet);
  std::vector<Run> runs;
  for (const Section& section : sections_of(request)) {
    for (Run& run : measure_section(request, section, note)) runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<RunKnee> knees_of(const std::vector<Run>& runs) {
  std::vector<RunKnee> knees;
  // The runs of one input in one section are adjacent.
  for (auto begin = runs.begin(); begin != runs.end();) {
    const auto end = std::find_if(begin, runs.end(), [&](const Run& run) {
      return run.input != begin->input || !same(run.section, begin->section);
    });
    std::vector<reader::SweepPoint> points;
    for (auto run = begin; run != end; ++run) points.push_back({run->workers, run->rate().median});
    const std::optional<reader::Knee> knee = reader::find_knee(points);
    if (points.size() > 1 && knee) {
      const auto at =
          std::find_if(begin, end, [&](const Run& run) { return run.workers == knee->workers; });
      knees.push_back({&*at, *knee, reason_of(*at, *knee)});
    }
    begin = end;
  }
  return knees;
}

}  // namespace packhorse::bench
