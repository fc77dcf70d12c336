#include "packhorse/trainer/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "packhorse/error.h"
#include "packhorse/file.h"
#include "packhorse/reader/autotune.h"
#include "packhorse/reader/loader.h"
#include "packhorse/trainer/archs.h"
#include "packhorse/trainer/evaluate.h"
#include "packhorse/trainer/prefetcher.h"
#include "packhorse/trainer/schedule.h"

namespace packhorse::trainer {
namespace {

using Clock = std::chrono::steady_clock;
using DatasetPtr = std::shared_ptr<const reader::Dataset>;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// How often the loss is read, which on a GPU waits for all that is queued.
constexpr std::int64_t kReportSteps = 20;
constexpr double kReportSeconds = 2;

DatasetPtr open_val(const FitOptions& options) {
  if (!options.val.empty()) return reader::Dataset::open(options.val, find_val_split(options.val));
  const std::string split = find_val_split(options.data);
  return split.empty() ? nullptr : reader::Dataset::open(options.data, split);
}

Recipe new_recipe(const FitOptions& options, std::uint64_t samples) {
  const Recipe base = default_recipe(find_arch(options.recipe.arch.value_or("resnet18")));
  Recipe recipe = resolve(options.recipe, base);
  const auto all = static_cast<std::int64_t>(samples);
  if (recipe.batch_size > all && options.recipe.batch_size) {
    throw Error(ErrorKind::kUsage,
                fmt::format("there are {} pictures to train on, fewer than one batch of {}",
                            samples, recipe.batch_size),
                options.data, "Use a smaller --batch-size.");
  }
  recipe.batch_size = std::min(recipe.batch_size, std::max<std::int64_t>(1, all));
  return recipe;
}

/// What may not change in the middle of a run.
void check_resumable(const RunState& state, const Recipe& recipe, const reader::Dataset& train,
                     const FitOptions& options, const std::filesystem::path& checkpoint) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kUsage, "the run cannot go on with " + what, checkpoint,
                "Leave that option out, or start a new run in another --out.");
  };
  const Recipe& old = state.recipe;
  if (recipe.arch != old.arch) refuse("another --arch (it is " + old.arch + ")");
  if (recipe.image_size != old.image_size) refuse("another --image-size");
  if (recipe.batch_size != old.batch_size) {
    refuse(fmt::format("another --batch-size (it is {})", old.batch_size));
  }
  if (recipe.seed != old.seed) refuse(fmt::format("another --seed (it is {})", old.seed));
  if (recipe.order != old.order)
    refuse(fmt::format("another --order (it is {})", name_of(old.order)));
  if (train.size() != state.train_samples) {
    refuse(fmt::format("other data: it had {} pictures, {} has {}", state.train_samples,
                       options.data.string(), train.size()));
  }
  check_classes(state.classes, train, options.data);
}

class Run {
 public:
  Run(const FitOptions& options, const FitEvents& events, std::stop_token stop)
      : options_(options), events_(events), stop_(std::move(stop)) {
    train_ = reader::Dataset::open(options_.data, options_.split);
    val_ = open_val(options_);
    begin();
    if (val_) {
      check_classes(state_.classes, *val_, options_.val.empty() ? options_.data : options_.val);
    }
    engine_ = std::make_unique<Engine>(recipe(), static_cast<std::int64_t>(state_.classes.size()),
                                       options_.device);
    if (options_.resume) engine_->load(last());
    if (!options_.init_from.empty()) init_from();
  }

  FitResult run() {
    const auto start = Clock::now();
    if (!val_ && events_.note) {
      events_.note("there is no val or test split beside the training data: nothing is scored");
    }
    reader::Loader loader(train_, loader_options());
    Prefetcher batches(loader, options_.device);
    steps_per_epoch_ = static_cast<std::int64_t>(train_->size()) / recipe().batch_size;
    if (steps_per_epoch_ == 0) {
      throw Error(ErrorKind::kUsage, "there is nothing to train on", options_.data);
    }
    schedule_ = {.lr = recipe().lr,
                 .warmup_steps = std::llround(recipe().warmup_epochs * double(steps_per_epoch_)),
                 .total_steps = steps_per_epoch_ * recipe().epochs};
    while (state_.epoch < recipe().epochs && !at_limit()) {
      loader.start_epoch(static_cast<std::uint64_t>(state_.epoch), state_.done);
      if (train_epoch(batches)) finish_epoch();
      tell_of(loader.bad_samples());
    }
    return result(seconds_since(start));
  }

 private:
  const Recipe& recipe() const { return state_.recipe; }
  std::filesystem::path last() const { return options_.out / "last.pt"; }
  bool at_limit() const { return options_.max_steps > 0 && state_.step >= options_.max_steps; }

  /// Fills state_: that of a new run, or of the one to resume.
  void begin() {
    if (options_.resume) {
      if (options_.out.empty()) {
        throw Error(ErrorKind::kUsage, "--resume needs --out, where last.pt lies");
      }
      if (!std::filesystem::exists(last())) {
        throw Error(ErrorKind::kNotFound, "there is no run to go on with", last(),
                    "Leave out --resume to start one.");
      }
      state_ = read_run_state(last());
      const Recipe resumed = resolve(options_.recipe, state_.recipe);
      check_resumable(state_, resumed, *train_, options_, last());
      state_.recipe = resumed;
      return;
    }
    state_.recipe = new_recipe(options_, train_->size());
    state_.classes = train_->classes();
    state_.train_samples = train_->size();
    if (options_.out.empty()) return;
    if (std::filesystem::exists(last()) && !options_.overwrite) {
      throw Error(ErrorKind::kExists, "there is a run already", options_.out,
                  "Go on with it by --resume, replace it by --overwrite, or use another --out.");
    }
    make_directories(options_.out);
    // Or an interruption before the first save would leave the old run to be resumed.
    for (const char* old : {"best.pt", "last.pt"}) std::filesystem::remove(options_.out / old);
  }

  void init_from() {
    if (options_.resume) {
      throw Error(ErrorKind::kUsage, "--init-from starts a run and --resume goes on with one", {},
                  "Leave out one of them.");
    }
    const auto kept = engine_->init_from(options_.init_from, options_.init_head);
    if (options_.init_head == Head::kMayDiffer && !kept.empty() && events_.note) {
      events_.note(fmt::format("not from {}, but new: {}", options_.init_from.string(),
                               fmt::join(kept, ", ")));
    }
  }

  reader::LoaderOptions loader_options() const {
    reader::LoaderOptions loader;
    loader.batch_size = recipe().batch_size;
    loader.workers = options_.workers;
    loader.augment = train_augment(recipe());
    loader.seed = recipe().seed;
    loader.order = recipe().order;
    loader.bad_samples = options_.bad_samples;
    loader.allocator = slot_allocator(options_.device);
    if (options_.autotune) {
      const reader::Autotuned tuned = reader::autotune(train_, loader);
      loader.workers = tuned.workers;
      if (events_.note) events_.note("autotune chose " + tuned.reason);
    }
    return loader;
  }

  /// Of those that have not been told of.
  void tell_of(const std::vector<reader::BadSample>& bad) {
    for (; bad_told_ < bad.size() && events_.note; ++bad_told_)
      events_.note("a bad sample was replaced: " + bad[bad_told_].what);
  }

  /// False when max_steps ended it early.
  bool train_epoch(Prefetcher& batches) {
    Clock::time_point mark = Clock::now();
    double wait_mark = batches.wait_seconds();
    std::int64_t images = 0;
    const auto take_stock = [&](bool report) {
      const double loss = engine_->mean_loss();
      const double seconds = seconds_since(mark), wait = batches.wait_seconds() - wait_mark;
      state_.loss_sum += loss * static_cast<double>(unread_steps_);
      state_.loss_steps += unread_steps_;
      state_.epoch_seconds += seconds;
      state_.epoch_wait_s += wait;
      seconds_ += seconds;
      wait_s_ += wait;
      images_ += images;
      if (report && events_.step && unread_steps_ > 0) {
        events_.step({.epoch = state_.epoch + 1,
                      .epochs = recipe().epochs,
                      .step = epoch_step(),
                      .steps = steps_per_epoch_,
                      .loss = loss,
                      .lr = schedule_.at(state_.step - 1),
                      .images_per_s = share(static_cast<double>(images), seconds),
                      .data_wait_share = share(wait, seconds)});
      }
      unread_steps_ = images = 0;
      mark = Clock::now();
      wait_mark = batches.wait_seconds();
    };
    while (std::optional<DeviceBatch> batch = batches.next()) {
      engine_->train_step(*batch, schedule_.at(state_.step));
      state_.done = batch->after.done;
      ++state_.step;
      ++unread_steps_;
      images += batch->size;
      const bool stopped = stop_.stop_requested();
      const bool save_now =
          options_.checkpoint_every > 0 && state_.step % options_.checkpoint_every == 0;
      if (stopped || save_now || at_limit() || unread_steps_ == kReportSteps ||
          seconds_since(mark) > kReportSeconds) {
        take_stock(true);
      }
      batch.reset();
      const bool whole = epoch_step() == steps_per_epoch_;
      if (stopped) interrupt();
      if (at_limit() && !whole) {
        save();
        return false;
      }
      if (save_now && !whole) {
        save();
        mark = Clock::now();
      }
    }
    take_stock(false);
    return true;
  }

  std::int64_t epoch_step() const { return state_.step - state_.epoch * steps_per_epoch_; }

  void finish_epoch() {
    EpochLog log{.epoch = state_.epoch + 1,
                 .step = state_.step,
                 .lr = schedule_.at(state_.step - 1),
                 .train_loss = share(state_.loss_sum, static_cast<double>(state_.loss_steps)),
                 .val_loss = {},
                 .top1 = {},
                 .top5 = {},
                 .seconds = state_.epoch_seconds,
                 .images_per_s = share(static_cast<double>(state_.loss_steps * recipe().batch_size),
                                       state_.epoch_seconds),
                 .data_wait_share = share(state_.epoch_wait_s, state_.epoch_seconds)};
    try {
      if (val_) scores_ = score(*engine_, recipe(), options_.device, options_.workers, val_, stop_);
    } catch (const Error& error) {
      // All steps of the epoch are done: a resumed run starts with this evaluation.
      if (error.kind() == ErrorKind::kInterrupted) interrupt();
      throw;
    }
    if (scores_) {
      log.val_loss = scores_->loss;
      log.top1 = scores_->top1;
      log.top5 = scores_->top5;
    }
    ++state_.epoch;
    state_.done = 0;
    state_.loss_sum = state_.epoch_seconds = state_.epoch_wait_s = 0;
    state_.loss_steps = 0;
    state_.history.push_back(log);
    const bool best = scores_ && scores_->top1 > state_.best_top1;
    if (best) state_.best_top1 = scores_->top1;
    save();
    if (best && !options_.out.empty()) engine_->save(options_.out / "best.pt", to_meta(state_));
    write_logs();
    if (events_.epoch) events_.epoch(log, recipe().epochs);
  }

  void save() {
    if (!options_.out.empty()) engine_->save(last(), to_meta(state_));
  }

  // From the history in the checkpoint, so that an interrupted run never leaves a line twice.
  void write_logs() const {
    if (options_.out.empty()) return;
    write_file(options_.out / "log.jsonl", as_bytes(history_jsonl(state_.history)));
    write_file(options_.out / "log.csv", as_bytes(history_csv(state_.history)));
  }

  [[noreturn]] void interrupt() {
    save();
    const std::string where =
        fmt::format("the training was interrupted in epoch {} after {} of {} steps",
                    state_.epoch + 1, epoch_step(), steps_per_epoch_);
    if (options_.out.empty()) {
      throw Error(ErrorKind::kInterrupted, where, {}, "Nothing is saved without --out.");
    }
    throw Error(ErrorKind::kInterrupted, where, last(),
                "Give the same command with --resume to go on from there.");
  }

  FitResult result(double seconds) {
    // Without a finished epoch in this call there are no scores of the present parameters yet.
    if (val_ && (!scores_ || state_.done > 0)) {
      scores_ = score(*engine_, recipe(), options_.device, options_.workers, val_, stop_);
    }
    FitResult result;
    result.recipe = recipe();
    result.parameters = engine_->parameters();
    result.epochs = state_.epoch;
    result.steps = state_.step;
    result.images_per_s = share(static_cast<double>(images_), seconds_);
    result.data_wait_share = share(wait_s_, seconds_);
    result.loss = state_.loss_steps > 0 ? state_.loss_sum / static_cast<double>(state_.loss_steps)
                  : state_.history.empty() ? 0
                                           : state_.history.back().train_loss;
    result.val = scores_;
    if (!options_.out.empty()) result.checkpoint = last();
    result.seconds = seconds;
    return result;
  }

  const FitOptions& options_;
  const FitEvents& events_;
  std::stop_token stop_;
  DatasetPtr train_, val_;
  RunState state_;
  Schedule schedule_;
  std::unique_ptr<Engine> engine_;
  std::int64_t steps_per_epoch_ = 0;
  std::size_t bad_told_ = 0;       ///< bad samples that a note was made of
  std::int64_t unread_steps_ = 0;  ///< whose loss is still on the device
  std::optional<Scores> scores_;
  double seconds_ = 0, wait_s_ = 0;  ///< training in this call
  std::int64_t images_ = 0;
};

}  // namespace

FitResult fit(const FitOptions& options, const FitEvents& events, std::stop_token stop) {
  return Run(options, events, std::move(stop)).run();
}

}  // namespace packhorse::trainer
