#include "packhorse/trainer/measure.h"

#include <fmt/format.h>

#include <chrono>

#include "packhorse/error.h"
#include "packhorse/reader/loader.h"
#include "packhorse/trainer/archs.h"
#include "packhorse/trainer/engine.h"
#include "packhorse/trainer/prefetcher.h"

namespace packhorse::trainer {
namespace {

using Clock = std::chrono::steady_clock;

/// An input with what its repeats gave so far.
struct Input {
  std::filesystem::path path;
  std::shared_ptr<const reader::Dataset> dataset;
  std::vector<double> read, decode, training, wait;
  double loss = 0;
};

struct TrainingPass {
  double images_per_s = 0, wait_share = 0, loss = 0;
};

class Measuring {
 public:
  Measuring(const MeasureOptions& options, std::stop_token stop)
      : options_(options), stop_(std::move(stop)) {}

  SpeedReport run(const std::function<void(const std::string&)>& note) {
    open_inputs();
    for (const Input& input : inputs_) {
      if (note) note("warming the cache with " + input.path.string());
      reader::make_warm(*input.dataset);
    }
    for (int repeat = 0; repeat < options_.repeats; ++repeat) {
      for (Input& input : inputs_) {
        if (note) {
          note(fmt::format("repeat {} of {}: {}", repeat + 1, options_.repeats,
                           input.path.string()));
        }
        input.read.push_back(read_pass(input, reader::Work::kRead));
        input.decode.push_back(read_pass(input, reader::Work::kDecode));
        const TrainingPass pass = training_pass(input);
        input.training.push_back(pass.images_per_s);
        input.wait.push_back(pass.wait_share);
        input.loss = pass.loss;
      }
    }
    return report();
  }

 private:
  void open_inputs() {
    const auto open = [&](const std::filesystem::path& path) {
      inputs_.push_back({.path = path,
                         .dataset = reader::Dataset::open(path, options_.split),
                         .read = {},
                         .decode = {},
                         .training = {},
                         .wait = {}});
    };
    open(options_.folder);
    for (const auto& path : options_.packed) open(path);
    recipe_ = resolve(options_.recipe,
                      default_recipe(find_arch(options_.recipe.arch.value_or("smallnet"))));
    recipe_.accumulate = 1;
    for (const Input& input : inputs_) {
      if (input.dataset->classes() != inputs_[0].dataset->classes() ||
          input.dataset->size() != inputs_[0].dataset->size()) {
        throw Error(
            ErrorKind::kUsage,
            "this does not hold the folder's pictures: it has other classes or another number",
            input.path, "Pack the folder given with --folder and measure that.");
      }
      const auto samples = static_cast<std::int64_t>(input.dataset->size());
      if (samples == 0) throw Error(ErrorKind::kUsage, "there is nothing to measure", input.path);
      recipe_.batch_size = std::min(recipe_.batch_size, samples);
    }
  }

  reader::LoaderOptions loader_options() const {
    reader::LoaderOptions loader;
    loader.batch_size = recipe_.batch_size;
    loader.workers = options_.workers;
    loader.augment = train_augment(recipe_);
    loader.seed = recipe_.seed;
    loader.order = recipe_.order;
    return loader;
  }

  void check_stop() const {
    if (stop_.stop_requested()) {
      throw Error(ErrorKind::kInterrupted, "the measurement was interrupted");
    }
  }

  double read_pass(const Input& input, reader::Work work) const {
    check_stop();
    reader::MeasureOptions options;
    options.work = work;
    options.cache = reader::CacheState::kAsIs;  // made warm once, before the first repeat
    options.loader = loader_options();
    options.max_seconds = options_.max_read_seconds;
    options.min_seconds = std::min(0.5, options_.max_read_seconds);
    return reader::measure(input.dataset, options).images_per_s();
  }

  TrainingPass training_pass(const Input& input) {
    Engine engine(recipe_, static_cast<std::int64_t>(input.dataset->classes().size()),
                  {.device = options_.device});
    reader::LoaderOptions options = loader_options();
    options.allocator = slot_allocator(options_.device);
    reader::Loader loader(input.dataset, options);
    workers_ = loader.workers();
    Prefetcher batches(loader, options_.device);
    std::uint64_t epoch = 0;
    std::int64_t done = 0;
    batches.start_epoch(epoch);
    const auto step = [&] {
      check_stop();
      std::optional<DeviceBatch> batch = batches.next();
      while (!batch) {
        batches.start_epoch(++epoch);
        batch = batches.next();
      }
      engine.train(*batch, {.step = done++, .lr = recipe_.lr / 10});
      return batch->size;
    };
    for (std::int64_t i = 0; i < options_.warmup_steps; ++i) step();
    engine.report();
    const auto begin = Clock::now();
    const double wait_before = batches.wait_seconds();
    std::int64_t images = 0;
    for (std::int64_t i = 0; i < options_.steps; ++i) images += step();
    TrainingPass pass;
    pass.loss = engine.report().loss;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    pass.images_per_s = static_cast<double>(images) / seconds;
    pass.wait_share = (batches.wait_seconds() - wait_before) / seconds;
    return pass;
  }

  SpeedReport report() const {
    SpeedReport report{
        .recipe = recipe_, .device = describe(options_.device), .workers = workers_, .inputs = {}};
    for (const Input& input : inputs_) {
      report.inputs.push_back({.input = input.path,
                               .format = input.dataset->format(),
                               .image_mode = input.dataset->image_mode(),
                               .samples = input.dataset->size(),
                               .read = reader::spread_of(input.read),
                               .decode = reader::spread_of(input.decode),
                               .training = reader::spread_of(input.training),
                               .wait_share = reader::spread_of(input.wait).median,
                               .loss = input.loss});
    }
    return report;
  }

  const MeasureOptions& options_;
  std::stop_token stop_;
  Recipe recipe_;
  std::vector<Input> inputs_;
  int workers_ = 0;
};

}  // namespace

SpeedReport measure(const MeasureOptions& options,
                    const std::function<void(const std::string&)>& note, std::stop_token stop) {
  if (options.steps < 1 || options.repeats < 1 || options.warmup_steps < 0) {
    throw Error(ErrorKind::kUsage, "there must be at least one step and one repeat");
  }
  return Measuring(options, std::move(stop)).run(note);
}

}  // namespace packhorse::trainer
