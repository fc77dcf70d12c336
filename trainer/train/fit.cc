#include "packhorse/trainer/train/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/printable.h"
#include "base/resources.h"
#include "base/stop.h"
#include "input/gpu_decode.h"
#include "input/prefetcher.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/autotune.h"
#include "packhorse/reader/loader.h"
#include "packhorse/trainer/train/evaluate.h"
#include "recipe/schedule.h"
#include "train/fit_setup.h"
#include "train/run_lock.h"
#include "train/run_state.h"
#include "train/scoring.h"
#include "watch/watch.h"

namespace packhorse::trainer {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// How often the loss is read. On a GPU, reading it waits for everything queued.
constexpr std::int64_t kReportSteps = 20;
constexpr double kReportSeconds = 2;

/// What a process tells the others before each part of a step.
enum Flag { kStop = 1, kReport = 2 };

/// Aborts the processes' work on GPUs when an error ends the scope. Otherwise anything that waits
/// for the device would wait for ever when another process is gone.
class AbortOnError {
 public:
  explicit AbortOnError(Processes& processes) : processes_(processes) {}
  ~AbortOnError() {
    if (std::uncaught_exceptions() > before_) processes_.abort();
  }
  AbortOnError(const AbortOnError&) = delete;
  AbortOnError& operator=(const AbortOnError&) = delete;

 private:
  Processes& processes_;
  int before_ = std::uncaught_exceptions();
};

class Run {
 public:
  Run(const FitOptions& options, const FitEvents& events, std::stop_token stop)
      : options_(options),
        events_(processes().first() ? events : FitEvents{}),
        stop_(std::move(stop)),
        store_({.directory = options.out, .keep = options.keep, .after_save = options.after_save}) {
    if (options_.bad_samples.policy == reader::BadSamplePolicy::kLeaveOut)
      throw Error(ErrorKind::kUsage, "nothing can be learnt from samples that are left out", {},
                  "replace them: BadSamplePolicy::kReplace");
    if (!options_.out.empty() && processes().first()) {
      lock_.emplace(options_.out);
      if (!lock_->holds())
        note("this storage has no file locks: nothing keeps another run out of the same `out=`");
    }
    train_ = open_train(options_);
    val_ = open_val(options_);
    Beginning beginning = begin_run(options_, *train_, processes(), store_);
    state_ = std::move(beginning.state);
    if (!beginning.note.empty()) note(beginning.note);
    task_ = make_task(recipe());
    task_->check_training(*train_);
    if (val_) {
      check_classes(state_.classes, *task_, *val_,
                    options_.val.empty() ? options_.data : options_.val);
    }
    processes().check_same("settings, data or a checkpoint", to_meta(state_).dump());
    engine_ = std::make_unique<Engine>(recipe(), static_cast<std::int64_t>(state_.classes.size()),
                                       EngineOptions{.device = options_.device,
                                                     .processes = &processes(),
                                                     .cuda_graph = options_.cuda_graph});
    if (beginning.checkpoint) engine_->load(*beginning.checkpoint, store_.last());
    if (!options_.init_from.empty()) init_from();
    if (recipe().channels > 0 && !beginning.checkpoint) measure_normalization();
    if (!options_.resume && !options_.out.empty() && processes().first()) {
      store_.replace_earlier();
    }
    watch_ = std::make_unique<Watch>(options_.watch, watched_run());
  }

  FitResult run() {
    const StopExempt steps_are_finished;
    const auto start = Clock::now();
    if (!val_) note("there is no val or test split beside the training data, so nothing is scored");
    const std::unique_ptr<reader::Loader> made = make_loader();
    reader::Loader& loader = *made;
    const auto watching = watch_->loader(loader, *train_);
    Prefetcher batches(loader, options_.device);
    const AbortOnError leaving(processes());  // destroyed before `batches`: copies wait for steps
    steps_per_epoch_ = static_cast<std::int64_t>(train_->size()) / recipe().batch_size;
    if (steps_per_epoch_ == 0) {
      throw Error(ErrorKind::kUsage, "there is nothing to train on", options_.data);
    }
    schedule_ = {.lr = recipe().lr,
                 .warmup_steps = std::llround(recipe().warmup_epochs * double(steps_per_epoch_)),
                 .total_steps = steps_per_epoch_ * recipe().epochs};
    while (state_.epoch < recipe().epochs && !at_limit() && !stopped_) {
      batches.start_epoch(static_cast<std::uint64_t>(state_.epoch), state_.done);
      if (train_epoch(batches)) finish_epoch();
      tell_of(loader.bad_samples());
    }
    watch_->finish();
    FitResult result = make_result(start);
    store_.finish();
    tell_of_saving();
    return result;
  }

 private:
  const Recipe& recipe() const { return state_.recipe; }
  Processes& processes() { return options_.processes != nullptr ? *options_.processes : alone_; }
  bool at_limit() const { return options_.max_steps > 0 && state_.step >= options_.max_steps; }
  std::int64_t epoch_step() const { return state_.step - state_.epoch * steps_per_epoch_; }
  void note(const std::string& text) const {
    if (events_.note) events_.note(text);
  }

  void init_from() {
    const LoadedWeights loaded = engine_->init_from(options_.init_from, options_.init_use);
    const std::string file = printable(options_.init_from.native());
    if (options_.init_use.head == Head::kNew) {
      note(fmt::format("not from {}, but new: {}", file, fmt::join(loaded.kept, ", ")));
    } else if (!loaded.classes.empty() && loaded.classes != state_.classes) {
      note(fmt::format("the last layer of {} is for other classes ({}): `new_head=` starts it anew",
                       file, difference_of_classes(loaded.classes, state_.classes)));
    }
  }

  void measure_normalization() {
    reader::LoaderOptions how;
    how.workers = workers();
    how.limits = options_.limits;
    how.bad_samples = options_.bad_samples;
    engine_->set_normalization(measure_bands(train_, recipe(), how));
    const Normalization& found = engine_->normalization();
    note(fmt::format("the bands are normalised by means of {:.9g} and deviations of {:.9g}",
                     fmt::join(found.mean, ", "), fmt::join(found.stddev, ", ")));
  }

  WatchedRun watched_run() {
    return {.out = options_.out,
            .resumed_step = options_.resume ? state_.step : -1,
            .device = options_.device,
            .gpu_decode = options_.gpu_decode != FitOptions::GpuDecode::kOff,
            .rank = processes().rank(),
            .world = processes().size(),
            .local_rank = processes().local_rank(),
            .local_world = processes().local_size(),
            .note = events_.note};
  }

  int workers() {
    if (options_.workers >= 0 || processes().local_size() == 1) return options_.workers;
    return std::max(1, available_cpus() / processes().local_size());
  }

  /// Its threads obey a stop, unlike the steps.
  std::unique_ptr<reader::Loader> make_loader() {
    const StopScope scope(stop_);
    return std::make_unique<reader::Loader>(train_, loader_options());
  }

  reader::LoaderOptions loader_options() {
    reader::LoaderOptions loader;
    loader.batch_size = part_size(recipe(), processes());
    loader.workers = workers();
    loader.slots = options_.slots;
    task_->read_for_training(loader);
    choose_bands(recipe(), loader);
    choose_samples(recipe(), loader);
    loader.seed = recipe().seed;
    loader.order = recipe().order;
    loader.rank = processes().rank();
    loader.world = processes().size();
    loader.bad_samples = options_.bad_samples;
    loader.limits = options_.limits;
    loader.allocator = slot_allocator(options_.device);
    loader.observer = watch_->observer();
    if (options_.autotune) {
      const reader::Autotuned tuned = reader::autotune(train_, loader);
      loader.workers = tuned.workers;
      note("autotune chose " + tuned.reason);
    }
    choose_gpu_decode(loader);
    return loader;
  }

  void choose_gpu_decode(reader::LoaderOptions& loader) {
    if (options_.gpu_decode == FitOptions::GpuDecode::kOff) return;
    if (recipe().channels > 0)
      throw Error(ErrorKind::kUsage, "GPUs decode colours, and `channels=` asks for bands", {},
                  "leave out `gpu_decode=`");
    if (!options_.device.is_cuda()) {
      throw Error(ErrorKind::kUsage, "there is no GPU to decode on", {}, "leave out `gpu_decode=`");
    }
    loader.encoded_share = 1;
    if (options_.gpu_decode == FitOptions::GpuDecode::kOn) return;
    const GpuDecodeShare tuned = tune_gpu_decode(train_, loader, options_.device);
    loader.encoded_share = tuned.share;
    note("`gpu_decode=auto` chose " + tuned.reason);
  }

  /// Reports the bad samples that have not been reported yet.
  void tell_of(const std::vector<reader::BadSample>& bad) {
    for (; bad_told_ < bad.size(); ++bad_told_)
      note("a bad sample was replaced: " + bad[bad_told_].what);
  }
  void tell_of_saving() {
    for (const std::string& text : store_.take_notes()) note(text);
  }

  /// Nothing when a stop was requested before the batch was there.
  std::optional<DeviceBatch> wait_for_batch(Prefetcher& batches) const {
    if (stop_.stop_requested()) return std::nullopt;
    try {
      const StopScope scope(stop_);
      std::optional<DeviceBatch> batch = batches.next();
      if (batch) return batch;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted && stop_.stop_requested()) return std::nullopt;
      throw;
    }
    throw Error(ErrorKind::kIo, "the data ended before the epoch", options_.data,
                "this is a bug in packhorse; please report it");
  }

  /// One step of the optimiser. Returns false when one of the processes was to stop before it had
  /// its batches: then all of them are as they were before the step. They agree before they
  /// compute, since in the midst of it each waits for the others.
  bool step(Prefetcher& batches) {
    std::uint64_t done = state_.done;
    for (std::int64_t part = 0; part < recipe().accumulate; ++part) {
      const std::optional<DeviceBatch> batch = wait_for_batch(batches);
      const bool late = seconds_since(mark_) > kReportSeconds;
      const int flags = processes().flags((batch ? 0 : kStop) | (late ? kReport : 0));
      if ((flags & kStop) != 0) {
        if (part > 0) engine_->drop_parts();
        return false;
      }
      if (part == 0 && (flags & kReport) != 0) take_stock(batches, true);
      engine_->train(*batch, {.step = state_.step, .part = part, .lr = schedule_.at(state_.step)});
      done = batch->after.done;
    }
    state_.done = done;
    ++state_.step;
    ++unread_steps_;
    return true;
  }

  /// Reads the loss of the steps since the last time.
  void take_stock(Prefetcher& batches, bool tell) {
    const StepsReport steps = engine_->report();
    const double seconds = seconds_since(mark_), wait = batches.wait_seconds() - wait_mark_;
    const auto images = static_cast<double>(unread_steps_ * recipe().batch_size);
    state_.loss_sum += steps.loss * static_cast<double>(unread_steps_);
    state_.loss_steps += unread_steps_;
    state_.epoch_seconds += seconds;
    state_.epoch_wait_s += wait;
    seconds_ += seconds;
    wait_s_ += wait;
    images_ += images;
    skipped_ = std::max(skipped_, steps.skipped);
    if (unread_steps_ > 0) {
      report(tell, {.epoch = state_.epoch + 1,
                    .epochs = recipe().epochs,
                    .step = epoch_step(),
                    .steps = steps_per_epoch_,
                    .loss = steps.loss,
                    .lr = schedule_.at(state_.step - 1),
                    .images_per_s = share(images, seconds),
                    .data_wait_share = share(wait, seconds),
                    .skipped = steps.skipped,
                    .loss_scale = steps.loss_scale,
                    .device_memory = peak_memory(options_.device)});
    }
    unread_steps_ = 0;
    restart_clock(batches);
    tell_of_saving();
  }

  void report(bool tell, const StepReport& step) {
    watch_->on_step(step);
    if (tell && events_.step) events_.step(step);
  }

  void restart_clock(const Prefetcher& batches) {
    mark_ = Clock::now();
    wait_mark_ = batches.wait_seconds();
  }

  /// Returns false when it ended early: stopped, or at max_steps.
  bool train_epoch(Prefetcher& batches) {
    restart_clock(batches);
    while (epoch_step() < steps_per_epoch_) {
      watch_->before_step(state_.step);
      stopped_ = !step(batches);
      const bool save_now =
          options_.checkpoint_every > 0 && state_.step % options_.checkpoint_every == 0;
      const bool ending = stopped_ || at_limit();
      if (ending || save_now || unread_steps_ == kReportSteps) take_stock(batches, true);
      const bool whole = epoch_step() == steps_per_epoch_;
      if (ending && !whole) {
        save(false);
        return false;
      }
      if (save_now && !whole) save(false);
    }
    take_stock(batches, false);
    return true;
  }

  EpochLog log_of_epoch() const {
    return {.epoch = state_.epoch + 1,
            .step = state_.step,
            .lr = schedule_.at(state_.step - 1),
            .train_loss = share(state_.loss_sum, static_cast<double>(state_.loss_steps)),
            .scores = {},
            .seconds = state_.epoch_seconds,
            .images_per_s = share(static_cast<double>(state_.loss_steps * recipe().batch_size),
                                  state_.epoch_seconds),
            .data_wait_share = share(state_.epoch_wait_s, state_.epoch_seconds)};
  }

  void finish_epoch() {
    EpochLog log = log_of_epoch();
    try {
      score_now();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted) throw;
      // All steps of the epoch are done: a resumed run starts with this evaluation.
      stopped_ = true;
      save(false);
      return;
    }
    log.scores = scores_;
    ++state_.epoch;
    state_.done = 0;
    state_.loss_sum = state_.epoch_seconds = state_.epoch_wait_s = 0;
    state_.loss_steps = 0;
    state_.history.push_back(log);
    const bool best = scores_ && scores_->best() > state_.best_score;
    if (best) state_.best_score = scores_->best();
    save(best);
    write_logs();
    watch_->on_epoch(log);
    if (events_.epoch) events_.epoch(log, recipe().epochs);
  }

  void score_now() {
    if (!val_) return;
    scores_ = score(*engine_, recipe(),
                    {.device = options_.device, .workers = workers(), .limits = options_.limits},
                    val_, processes(), stop_);
  }

  void save(bool best) {
    if (options_.out.empty() && stopped_) {
      throw Error(ErrorKind::kInterrupted,
                  fmt::format("the training was interrupted in epoch {} after {} of {} steps",
                              state_.epoch + 1, epoch_step(), steps_per_epoch_),
                  {}, "without `out=` nothing is saved: give `out=` to be able to continue a run");
    }
    if (options_.out.empty() || !processes().first()) return;
    store_.save(engine_->snapshot(to_meta(state_)), state_.step, best);
  }

  // Writes from the history in the checkpoint, so that an interrupted run never leaves a line
  // twice.
  void write_logs() {
    if (options_.out.empty() || !processes().first()) return;
    write_file(options_.out / "log.jsonl", as_bytes(history_jsonl(state_.history, recipe().task)));
    write_file(options_.out / "log.csv", as_bytes(history_csv(state_.history, recipe().task)));
  }

  FitResult make_result(Clock::time_point start) {
    // When no epoch was finished in this call, the present parameters have no scores yet.
    if (!stopped_ && (!scores_ || state_.done > 0)) score_now();
    FitResult result;
    result.recipe = recipe();
    result.parameters = engine_->parameters();
    result.processes = processes().size();
    result.epochs = state_.epoch;
    result.steps = state_.step;
    result.skipped = skipped_;
    result.stopped = stopped_;
    result.images_per_s = share(images_, seconds_);
    result.data_wait_share = share(wait_s_, seconds_);
    result.loss = state_.loss_steps > 0 ? state_.loss_sum / static_cast<double>(state_.loss_steps)
                  : state_.history.empty() ? 0
                                           : state_.history.back().train_loss;
    result.val = scores_;
    if (!options_.out.empty()) result.checkpoint = store_.last();
    result.seconds = seconds_since(start);
    return result;
  }

  const FitOptions& options_;
  Processes alone_;
  FitEvents events_;
  std::stop_token stop_;
  std::optional<RunLock> lock_;  ///< of the first process
  CheckpointStore store_;
  DatasetPtr train_, val_;
  RunState state_;
  Schedule schedule_;
  std::unique_ptr<const Task> task_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Watch> watch_;
  std::int64_t steps_per_epoch_ = 0;
  bool stopped_ = false;
  std::size_t bad_told_ = 0;       ///< bad samples that a note was made of
  std::int64_t unread_steps_ = 0;  ///< steps whose loss is still on the device
  Clock::time_point mark_;         ///< when the loss was last read
  double wait_mark_ = 0;
  std::optional<Scores> scores_;
  double seconds_ = 0, wait_s_ = 0, images_ = 0;  ///< training in this call
  std::int64_t skipped_ = 0;
};

}  // namespace

FitResult fit(const FitOptions& options, const FitEvents& events, std::stop_token stop) {
  return Run(options, events, std::move(stop)).run();
}

}  // namespace packhorse::trainer
