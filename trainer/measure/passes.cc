#include "measure/passes.h"

#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "input/prefetcher.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/loader.h"
#include "train/engine.h"

namespace packhorse::trainer {
namespace {

/// Noise, as a loader gives it.
at::Tensor made_images(const Recipe& recipe, const at::Device& device) {
  const std::int64_t size = recipe.image_size;
  const at::TensorOptions on(device);
  if (recipe.channels > 0)
    return at::rand({recipe.batch_size, size, size, recipe.channels}, on.dtype(at::kFloat));
  return at::randint(256, {recipe.batch_size, size, size, 3}, on.dtype(at::kByte));
}

using Clock = std::chrono::steady_clock;
using DatasetPtr = std::shared_ptr<const reader::Dataset>;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// A dataset under a condition, which the constructor establishes.
class Place {
 public:
  /// For warm and simulated conditions, the files must be in the page cache already.
  Place(DatasetPtr dataset, const Condition& condition, const MeasureOptions& options)
      : condition_(condition), options_(options), dataset_(std::move(dataset)) {
    if (condition.kind == Condition::Kind::kSimulated) {
      storage_ = std::make_shared<reader::SimulatedStorage>(condition.storage);
      dataset_ = reader::on_simulated_storage(dataset_, storage_);
    }
    forget();
  }

  const DatasetPtr& dataset() const { return dataset_; }

  /// Restores the condition, so that another epoch is like the first.
  void forget() {
    if (condition_.kind == Condition::Kind::kCold) reader::make_cold(*dataset_);
    if (condition_.kind == Condition::Kind::kSimulated ||
        condition_.kind == Condition::Kind::kRemote)
      dataset_->release();
  }

  std::uint64_t disk_bytes() const {
    if (condition_.kind == Condition::Kind::kRemote)
      return options_.remote_bytes ? options_.remote_bytes() : 0;
    return storage_ ? storage_->bytes() : reader::process_usage().disk_bytes;
  }

  void prove(const reader::ColdPass& pass) const {
    if (condition_.kind == Condition::Kind::kCold) reader::prove_cold(*dataset_, pass);
  }

 private:
  const Condition& condition_;
  const MeasureOptions& options_;
  DatasetPtr dataset_;
  std::shared_ptr<reader::SimulatedStorage> storage_;
};

/// Prefetched storage delivers in bursts that last about as long as the first batch took.
constexpr double kBursts = 4;

/// Runs steps of a fresh model, or of a simulated device, and times them.
class Training {
 public:
  Training(const MeasureOptions& options, const Recipe& recipe, std::int64_t classes)
      : options_(options), recipe_(recipe) {
    if (options.simulated_device > 0) return;
    engine_.emplace(recipe, classes,
                    EngineOptions{.device = options.device, .cuda_graph = options.cuda_graph});
  }

  /// Gives the batch back at the end. `wait_s` is the time spent waiting for it.
  void step(std::optional<DeviceBatch> batch, double wait_s) {
    const auto begin = Clock::now();
    compute(*batch, begin);
    pass_.images += static_cast<std::uint64_t>(batch->size);
    batch.reset();
    pass_.wait_s += wait_s;
    const double compute_s = seconds_since(begin);
    pass_.compute_s += compute_s;
    pass_.batch_ms.push_back(1e3 * (wait_s + compute_s));
  }

  /// Discards the steps so far as warm-up.
  void start_clock(double first_batch_s) {
    pass_ = {.warmup_images = pass_.images, .first_batch_s = first_batch_s};
    cpu_before_ = reader::process_usage().cpu_s;
    cpus_ = {};
    begin_ = Clock::now();
  }
  /// Leaves out time that is not part of the training.
  void pause(Clock::duration time) { begin_ += time; }

  bool enough() const {
    const auto steps = static_cast<std::int64_t>(pass_.batch_ms.size());
    if (options_.steps > 0 && steps >= options_.steps) return true;
    return steps > 0 &&
           seconds_since(begin_) >= std::max(options_.max_seconds, kBursts * pass_.first_batch_s);
  }

  Pass pass() {
    pass_.seconds = seconds_since(begin_);
    pass_.cpu_s = reader::process_usage().cpu_s - cpu_before_;
    pass_.load = cpus_.load();
    pass_.loss /= static_cast<double>(std::max<std::size_t>(1, pass_.batch_ms.size()));
    return pass_;
  }

 private:
  void compute(const DeviceBatch& batch, Clock::time_point begin) {
    if (!engine_) {
      const std::chrono::duration<double> time(static_cast<double>(batch.size) /
                                               options_.simulated_device);
      reader::SimulatedStorage::wait_until(begin +
                                           std::chrono::duration_cast<Clock::duration>(time));
      return;
    }
    engine_->train(batch, {.step = done_++, .lr = recipe_.lr / 10});
    pass_.host_s += seconds_since(begin);
    // Waits for a GPU, whose work would otherwise count as waiting later.
    pass_.loss += engine_->report().loss;
  }

  const MeasureOptions& options_;
  const Recipe& recipe_;
  std::optional<Engine> engine_;
  std::int64_t done_ = 0;
  Pass pass_;
  double cpu_before_ = 0;
  reader::CpuWatch cpus_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

Passes::Passes(const MeasureOptions& options, const Recipe& recipe, std::stop_token stop)
    : options_(options), recipe_(recipe), stop_(std::move(stop)) {}

std::int64_t Passes::classes(const reader::Dataset& dataset) const {
  return static_cast<std::int64_t>(make_task(recipe_)->classes(dataset).size());
}

void Passes::check_stop() const {
  if (!stop_.stop_requested()) return;
  throw Error(ErrorKind::kInterrupted, "the measurement was interrupted");
}

void Passes::bring(const DatasetPtr& dataset, const Condition& condition) {
  if (condition.kind == Condition::Kind::kRemote) return;
  if (condition.kind == Condition::Kind::kCold) {
    warm_ = nullptr;
    afresh_.erase(dataset);
    return;
  }
  if (afresh_.insert(dataset).second) {
    reader::load_afresh(*dataset);
  } else if (warm_ != dataset) {
    reader::make_warm(*dataset);
  }
  warm_ = dataset;
}

reader::OrderKind Passes::order(const reader::Dataset& dataset) const {
  const bool suits = options_.recipe.order || !dataset.from_afar();
  return suits ? recipe_.order : dataset.usual_order();
}

reader::LoaderOptions Passes::loader_options(const reader::Dataset& dataset) const {
  reader::LoaderOptions loader;
  loader.batch_size = recipe_.batch_size;
  loader.workers = options_.workers;
  loader.slots = options_.slots;
  make_task(recipe_)->read_for_training(loader);
  choose_bands(recipe_, loader);
  loader.seed = recipe_.seed;
  loader.order = order(dataset);
  loader.limits = options_.limits;
  return loader;
}

Pass Passes::load(const DatasetPtr& dataset, const Condition& condition, reader::Work work) {
  check_stop();
  bring(dataset, condition);
  Place place(dataset, condition, options_);
  reader::MeasureOptions options;
  options.work = work;
  options.cache = condition.kind == Condition::Kind::kCold ? reader::CacheState::kCold
                                                           : reader::CacheState::kAsIs;
  options.loader = loader_options(*dataset);
  options.max_seconds = options_.max_seconds;
  options.min_first_batches = kBursts;
  options.warmup_batches = static_cast<std::size_t>(options_.warmup_steps);
  options.disk_bytes = [&] { return place.disk_bytes(); };
  // Warm passes repeat a small set, since reading it once is only noise. Otherwise a second epoch
  // would be warm.
  if (condition.kind == Condition::Kind::kWarm)
    options.min_seconds = std::min(0.5, options_.max_seconds);
  options.stop = stop_;
  const reader::Measurement measured = reader::measure(place.dataset(), options);
  return {.images = measured.images,
          .warmup_images = measured.warmup_images,
          .seconds = measured.seconds,
          .bytes = measured.bytes,
          .disk_bytes = measured.disk_bytes,
          .cpu_s = measured.cpu_s,
          .load = measured.load,
          .first_batch_s = measured.first_batch_s,
          .batch_ms = measured.batch_ms};
}

Pass Passes::train(const DatasetPtr& dataset, const Condition& condition) {
  check_stop();
  Training training(options_, recipe_, classes(*dataset));
  bring(dataset, condition);
  Place place(dataset, condition, options_);
  reader::LoaderOptions options = loader_options(*dataset);
  options.allocator = slot_allocator(options_.device);
  options.encoded_share = options_.gpu_decode ? 1 : 0;

  const std::uint64_t disk_before = place.disk_bytes();
  const auto made = Clock::now();
  reader::Loader loader(place.dataset(), options);
  workers_ = loader.workers();
  Prefetcher batches(loader, options_.device);
  std::uint64_t epoch = 0;
  batches.start_epoch(epoch);
  const auto step = [&] {
    check_stop();
    const auto begin = Clock::now();
    Clock::duration pause{};
    std::optional<DeviceBatch> batch = batches.next();
    if (!batch) {
      const auto ended = Clock::now();
      place.forget();
      pause = Clock::now() - ended;
      training.pause(pause);
      batches.start_epoch(++epoch);
      batch = batches.next();
    }
    training.step(std::move(batch), seconds_since(begin + pause));
  };
  std::optional<DeviceBatch> first = batches.next();
  const double first_batch_s = seconds_since(made);
  training.step(std::move(first), first_batch_s);
  for (std::int64_t i = 1; i < options_.warmup_steps; ++i) step();

  const std::uint64_t bytes_before = loader.counters().bytes;
  const double copy_before = batches.copy_seconds();
  training.start_clock(first_batch_s);
  while (!training.enough()) step();
  Pass pass = training.pass();
  const std::uint64_t bytes = loader.counters().bytes;
  pass.bytes = bytes - bytes_before;
  pass.disk_bytes = place.disk_bytes() - disk_before;
  pass.copy_s = batches.copy_seconds() - copy_before;
  place.prove({pass.warmup_images + pass.images, bytes, pass.disk_bytes});
  return pass;
}

Pass Passes::synthetic(std::int64_t classes) {
  Training training(options_, recipe_, classes);
  at::Device device(at::kCPU);
  if (options_.device.is_cuda())
    device = at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(options_.device.index));
  const auto batch = [&, images = made_images(recipe_, device),
                      labels = at::randint(classes, {recipe_.batch_size},
                                           at::TensorOptions(device).dtype(at::kLong))] {
    DeviceBatch made{.images = images, .labels = labels, .size = recipe_.batch_size};
    make_task(recipe_)->add_made_targets(made, classes);
    return made;
  };
  const auto step = [&] {
    check_stop();
    training.step(batch(), 0);
  };
  for (std::int64_t i = 0; i < options_.warmup_steps; ++i) step();
  training.start_clock(/*first_batch_s=*/0);
  while (!training.enough()) step();
  return training.pass();
}

}  // namespace packhorse::trainer
