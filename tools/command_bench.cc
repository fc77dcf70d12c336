#include "command_bench.h"

#include <fmt/format.h>

#include "common/machine.h"
#include "common/terminal.h"
#include "packhorse/error.h"
#include "packhorse/pack.h"
#include "packhorse/reader/measure.h"

namespace packhorse {

namespace {

using program::Json;
using reader::CacheState;
using reader::Measurement;
using reader::MeasureOptions;
using reader::Spread;
using reader::Work;

/// All repeats of one input with one setting.
struct Run {
  std::string input;
  std::shared_ptr<const reader::Dataset> dataset;
  int workers = 0;
  std::vector<Measurement> passes;

  Spread rate() const {
    std::vector<double> rates;
    for (const Measurement& pass : passes) rates.push_back(pass.images_per_s());
    return reader::spread_of(std::move(rates));
  }
  /// The pass in the middle of the field, for the figures that belong together.
  const Measurement& median_pass() const {
    std::vector<const Measurement*> order;
    for (const Measurement& pass : passes) order.push_back(&pass);
    std::sort(order.begin(), order.end(),
              [](auto* a, auto* b) { return a->images_per_s() < b->images_per_s(); });
    return *order[order.size() / 2];
  }
};

class CommandBench final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option("inputs", inputs_,
                   "Packed datasets and plain class folders, compared side by side")
        ->required();
    app.add_option("--work", work_, "read: bytes and their hash; decode: pixels, too")
        ->check(CLI::IsMember({"read", "decode"}))
        ->capture_default_str();
    auto* cold =
        app.add_flag("--cold", cold_, "Drop the inputs from the page cache before each pass");
    app.add_flag("--warm", warm_, "Read the inputs once before the first pass (default)")
        ->excludes(cold);
    app.add_option("--workers", workers_,
                   "Reader threads, e.g. 1,2,4; default: as many as this process may use")
        ->delimiter(',')
        ->check(CLI::NonNegativeNumber);
    app.add_option("--batch-size", batch_size_, "Images a batch")->capture_default_str();
    app.add_option("--size", size_, "Side of the random resized crop, in pixels")
        ->capture_default_str();
    app.add_option("--split", split_, "Split to read where an input has several");
    app.add_option("--repeats", repeats_, "Passes over each input, in turns: A B C A B C ...")
        ->capture_default_str();
    app.add_option("--max-images", max_images_,
                   "Images a pass, rounded up to whole batches; 0 = all")
        ->capture_default_str();
    app.add_option("--min-seconds", min_seconds_,
                   "Length of a warm pass at least; small inputs are read several times")
        ->capture_default_str();
    app.add_flag("--sequential", sequential_, "In stored order instead of shuffled");
    app.add_flag("--json", json_, "Print one JSON object");
    app.footer(
        "Example:\n  packhorse bench photos packed/wds packed/lmdb --work read --cold\n\n"
        "Rates are medians of the repeats with the spread beside them. cpu/1000 is CPU time for "
        "1000 images; disk is\n"
        "what the disk really delivered during the pass, which proves cold or warm.");
  }

  int run(const std::stop_token& stop) override {
    if (repeats_ < 1) throw Error(ErrorKind::kUsage, "--repeats must be at least 1");
    if (workers_.empty()) workers_ = {available_cpus()};
    std::vector<Run> runs;
    for (const std::string& input : inputs_) {
      const auto dataset = reader::Dataset::open(input, split_);
      for (const int workers : workers_) runs.push_back({input, dataset, workers, {}});
    }
    for (int repeat = 0; repeat < repeats_; ++repeat) {
      for (Run& run : runs) {
        if (stop.stop_requested())
          throw Error(ErrorKind::kInterrupted, "stopped; nothing was measured to the end");
        run.passes.push_back(measure(run.dataset, options(run, repeat)));
      }
    }
    fmt::print("{}", json_ ? program::to_text(to_json(runs)) : to_words(runs));
    return program::kDone;
  }

 private:
  MeasureOptions options(const Run& run, int repeat) const {
    MeasureOptions options;
    options.work = work_ == "read" ? Work::kRead : Work::kDecode;
    options.cache = cold_ ? CacheState::kCold : repeat == 0 ? CacheState::kWarm : CacheState::kAsIs;
    options.max_samples = max_images_;
    options.min_seconds = cold_ ? 0 : min_seconds_;
    options.loader.workers = run.workers;
    options.loader.batch_size = batch_size_;
    if (sequential_) options.loader.order = reader::OrderKind::kSequential;
    options.loader.seed = static_cast<std::uint64_t>(repeat);
    options.loader.augment = reader::RandomResizedCrop{.size = size_};
    options.loader.tail = reader::Tail::kKeep;
    return options;
  }

  const char* cache_name() const { return cold_ ? "cold" : "warm"; }

  Json to_json(const std::vector<Run>& runs) const {
    Json list = Json::array();
    for (const Run& run : runs) {
      const Spread rate = run.rate();
      const Measurement& pass = run.median_pass();
      const reader::LoaderCounters& c = pass.counters;
      list.push_back(
          {{"input", run.input},
           {"format", run.dataset->format()},
           {"image", run.dataset->image_mode()},
           {"work", work_},
           {"cache", cache_name()},
           {"order", sequential_ ? "sequential" : "global"},
           {"workers", run.workers},
           {"batch_size", batch_size_},
           {"images", pass.images},
           {"images_per_s", {{"min", rate.min}, {"median", rate.median}, {"max", rate.max}}},
           {"images_per_cpu_s", pass.cpu_s > 0 ? static_cast<double>(pass.images) / pass.cpu_s : 0},
           {"bytes", pass.bytes},
           {"disk_bytes", pass.disk_bytes},
           {"first_batch_s", pass.first_batch_s},
           {"batch_ms",
            {{"p50", reader::percentile(pass.batch_ms, 0.5)},
             {"p99", reader::percentile(pass.batch_ms, 0.99)}}},
           {"stages",
            {{"read_s", static_cast<double>(c.read_ns) * 1e-9},
             {"decode_s", static_cast<double>(c.decode_ns) * 1e-9},
             {"slot_wait_s", static_cast<double>(c.slot_wait_ns) * 1e-9},
             {"consumer_wait_s", static_cast<double>(c.consumer_wait_ns) * 1e-9}}}});
    }
    return {{"machine", program::machine_json()}, {"repeats", repeats_}, {"runs", list}};
  }

  std::string to_words(const std::vector<Run>& runs) const {
    std::vector<std::vector<std::string>> rows = {{"input", "format", "workers", "img/s", "spread",
                                                   "MB/s", "cpu/1000", "disk", "first batch",
                                                   "p99 batch", "vs first"}};
    for (const Run& run : runs) {
      const Spread rate = run.rate();
      const Measurement& pass = run.median_pass();
      const double images = std::max(1.0, static_cast<double>(pass.images));
      rows.push_back(
          {run.input, run.dataset->format(), std::to_string(run.workers),
           fmt::format("{:.0f}", rate.median), fmt::format("{:.0f}-{:.0f}", rate.min, rate.max),
           fmt::format("{:.0f}", static_cast<double>(pass.bytes) / pass.seconds / 1e6),
           fmt::format("{:.2f} s", pass.cpu_s / images * 1000),
           program::bytes_text(pass.disk_bytes), fmt::format("{:.1f} ms", pass.first_batch_s * 1e3),
           fmt::format("{:.1f} ms", reader::percentile(pass.batch_ms, 0.99)),
           fmt::format("{:.2f}x", rate.median / runs.front().rate().median)});
    }
    const std::uint64_t size = runs.front().dataset->size();
    return fmt::format(
               "{}, {}, {} order, {}, {} repeats\n", work_, cache_name(),
               sequential_ ? "sequential" : "shuffled",
               program::count_text(max_images_ > 0 ? std::min(max_images_, size) : size, "image"),
               repeats_) +
           program::table_text(rows);
  }

  std::vector<std::string> inputs_;
  std::string work_ = "decode", split_;
  std::vector<int> workers_;
  std::int64_t batch_size_ = 64;
  std::uint64_t max_images_ = 0;
  double min_seconds_ = 0.5;
  int repeats_ = 3, size_ = 224;
  bool cold_ = false, warm_ = false, sequential_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_bench_command() { return std::make_unique<CommandBench>(); }

}  // namespace packhorse
