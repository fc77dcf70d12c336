#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>

#include "base/option.h"
#include "base/printable.h"
#include "base/stop.h"
#include "base/text.h"
#include "commands.h"
#include "common/checks.h"
#include "common/options.h"
#include "common/remote.h"
#include "common/terminal.h"
#include "help/help_text.h"
#include "packhorse/trainer/train/fit.h"
#include "recipe_options.h"

namespace packhorse::trainer {

namespace {

using program::Json;
using program::with_commas;
using Clock = std::chrono::steady_clock;

/// The time between lines about a running epoch when stderr is not a terminal.
constexpr std::chrono::seconds kLogInterval(60);

std::string rate_text(double images_per_s) {
  return with_commas(static_cast<std::uint64_t>(images_per_s));
}

class CommandFit final : public program::Command {
 public:
  void setup(CLI::App& app) override {
    app.add_option(
           "--data", options_.data,
           "Packed dataset, which may lie at a URL, or class folder; with splits, its train "
           "split")
        ->required();
    app.add_option("--val", options_.val,
                   "Dataset to score after each epoch; default: the val or test split of --data");
    app.add_option("--split", options_.split, "Split of --data to train on (train)");
    app.add_option("--fold", fold_,
                   "Cross-validation: I/K, from 0/K on. Train on all but part I of K parts and, "
                   "without --val, score on that part. Each part has its share of each class")
        ->type_name("I/K");
    recipe_.add_all_options(app);
    run_.add_device(app);
    loader_.add_options(app, {"workers", "slots", "max_bad"});
    app.add_option(
        "--out", options_.out,
        "Directory for last.pt, best.pt, log.jsonl and log.csv; without it nothing is saved");
    app.add_flag("--resume", options_.resume,
                 "Continue from last.pt in --out; options not given keep their values");
    app.add_flag("--resume-if-there", resume_if_there_,
                 "Continue from last.pt in --out if it is there (then --init-from does not count), "
                 "and else start: for schedulers, which run the same command again");
    app.add_flag("--other-data", options_.other_data,
                 "With --resume: go on in the middle of an epoch although the data are others");
    app.add_flag("--overwrite", options_.overwrite, "Start a new run even if --out holds one");
    auto* weights = app.add_option(
        "--init-from", options_.init_from,
        "Initial weights: a .safetensors file, a .pth file of torch.save(), or a checkpoint");
    add_weight_pixels(app, weights, options_.init_use.pixels);
    app.add_flag("--new-head", new_head_,
                 "With --init-from: take all weights except the last layer, which starts anew, "
                 "for other classes");
    app.add_option("--checkpoint-every", options_.checkpoint_every,
                   "Steps between checkpoints; 0: only after each epoch")
        ->check(program::not_negative())
        ->capture_default_str();
    app.add_option(
           "--keep", options_.keep,
           "Keep this many of the latest checkpoints as step-N.pt, beside last.pt and best.pt")
        ->check(program::not_negative())
        ->capture_default_str();
    app.add_option(
        "--after-save", options_.after_save,
        "Shell command to run for each checkpoint, with its file as $1, e.g. 'cp \"$1\" /backup'");
    app.add_option("--max-steps", options_.max_steps,
                   "Stop after this many steps of the run; the schedule does not change")
        ->check(program::not_negative());
    program::add_image_limits(app, options_.limits, "Image limits");
    remote_.setup(app);
    app.add_flag(
        "--autotune", options_.autotune,
        "Measure for some seconds how many reader threads are worthwhile, and use that many");
    app.add_flag("--cuda-graph", options_.cuda_graph,
                 "Replay each step as one CUDA graph: less work for the CPU, the same losses");
    app.add_option("--gpu-decode", gpu_decode_,
                   "on: decode JPEGs on the GPU, with nvJPEG; auto: measure which share of them is "
                   "best decoded there")
        ->check(program::one_of({"off", "on", "auto"}))
        ->capture_default_str();
    watch_.add_options(app);
    app.add_option("--timeout", timeout_s_,
                   "With several processes: seconds to wait for one of them before giving up")
        ->check(program::positive())
        ->capture_default_str();
    app.add_option("--stopped-status", stopped_status_,
                   "Exit status when SIGTERM has ended the run before it was done, e.g. 75 for a "
                   "scheduler that starts it again until the status is 0")
        ->check(program::in_range(0, 255))
        ->capture_default_str();
    app.add_flag("--json", json_, "Print one JSON object at the end");
    program::add_quiet(app, quiet_, program::kProgressAndSummary);
    help::show_as_usual(
        app, {"--data", "--val", "--task", "--arch", "--image-size", "--batch-size", "--epochs",
              "--lr", "--augment", "--amp", "--device", "--workers", "--seed", "--out", "--resume",
              "--overwrite", "--init-from", "--json", "--quiet"});
    app.footer(
        "Example:\n"
        "  packhorse-train fit --data packed/cifar10 --arch smallnet --epochs 6 --out run\n\n"
        "On several GPUs (or CPUs), with one process each:\n"
        "  torchrun --nproc-per-node 8 --no-python packhorse-train fit ...\n\n"
        "A checkpoint opens in Python with torch.load(path, weights_only=True). Ctrl-C or SIGTERM "
        "finishes the step and saves; after SIGTERM the exit status is that of --stopped-status.");
  }

  int run() override {
    if (stopped_status_ != 0) program::be_patient();
    if (options_.other_data && !options_.resume && !resume_if_there_)
      throw Error(ErrorKind::kUsage, "--other-data is about --resume", {}, "leave it out");
    if (resume_if_there_) look_for_run();
    const std::optional<Launch> launch = find_launch();
    const Launch mine = launch.value_or(Launch{});
    options_.recipe = recipe_.choices();
    options_.fold = chosen_fold();
    options_.device = run_.pick(mine.local_rank);
    loader_.put_into(options_);
    options_.init_use.head = new_head_ ? Head::kNew : Head::kFromFile;
    options_.watch = watch_.options();
    if (remote_.enable({options_.data.string(), options_.val.string()}))
      options_.watch.more = program::remote_metrics;
    options_.gpu_decode = gpu_decode_ == "on"     ? FitOptions::GpuDecode::kOn
                          : gpu_decode_ == "auto" ? FitOptions::GpuDecode::kAuto
                                                  : FitOptions::GpuDecode::kOff;
    const auto timeout = std::chrono::seconds(timeout_s_);
    const std::unique_ptr<Processes> processes =
        launch ? std::make_unique<Processes>(*launch, options_.device, timeout)
               : std::make_unique<Processes>();
    share_cpus(*processes);
    if (launch) options_.processes = processes.get();
    const FitResult result = fit(options_, events(), current_stop());
    if (mine.rank == 0) {
      if (result.stopped) {
        fmt::print(stderr,
                   "packhorse-train: stopped after {}; run the same command with --resume to "
                   "continue from {}\n",
                   program::count_text(static_cast<std::uint64_t>(result.steps), "step"),
                   printable(result.checkpoint.native()));
      }
      if (json_ || !quiet_) fmt::print("{}", json_ ? json_text(to_json(result)) : to_words(result));
    }
    // A scheduler that takes the machine back sends SIGTERM; everything is saved by then, so that
    // is not a failure.
    if (!result.stopped) return program::kDone;
    return program::received_signal() == SIGINT ? 128 + SIGINT : stopped_status_;
  }

 private:
  std::optional<reader::Fold> chosen_fold() const {
    if (fold_.empty()) return std::nullopt;
    const auto part = parse_part<std::uint64_t>(fold_);
    if (!part || part->second < 2)
      throw Error(ErrorKind::kUsage, "--fold " + fold_ + " is no part of a fold", {},
                  "give 0/5, 1/5, ... 4/5 for five parts");
    return reader::Fold{.parts = part->second, .part = part->first, .stratified = true};
  }

  void look_for_run() {
    if (options_.resume || options_.overwrite || options_.out.empty())
      throw Error(ErrorKind::kUsage,
                  "--resume-if-there needs --out, and excludes --resume and --overwrite", {},
                  "leave out the others, and give --out");
    options_.resume = std::filesystem::exists(options_.out / "last.pt");
    if (!options_.resume) return;
    options_.init_from.clear();  // it was loaded when the run began
    new_head_ = false;
  }

  FitEvents events() const {
    FitEvents events;
    events.note = [](const std::string& note) {
      fmt::print(stderr, "packhorse-train: note: {}\n", printable_text(spelled(note)));
    };
    if (quiet_) return events;
    events.epoch = [](const EpochLog& log, int epochs) {
      fmt::print(stderr,
                 "{}epoch {}/{}: train loss {:.4f}{}, lr {:.4g}, {} img/s, {:.1f} % waiting for "
                 "data, {}\n",
                 program::stderr_is_terminal() ? "\r\x1b[K" : "", log.epoch, epochs, log.train_loss,
                 log.scores ? ", on the validation data: " + to_text(*log.scores) : "", log.lr,
                 rate_text(log.images_per_s), 100 * log.data_wait_share,
                 program::seconds_text(log.seconds));
    };
    events.step = [last = Clock::now()](const StepReport& step) mutable {
      const bool terminal = program::stderr_is_terminal();
      if (!terminal && Clock::now() - last < kLogInterval) return;
      last = Clock::now();
      fmt::print(stderr,
                 "{}epoch {}/{}, step {}/{}: {} img/s, loss {:.4f}, lr {:.4g}, {:.1f} % waiting "
                 "for data{}{}{}",
                 terminal ? "\r" : "", step.epoch, step.epochs, step.step, step.steps,
                 rate_text(step.images_per_s), step.loss, step.lr, 100 * step.data_wait_share,
                 step.device_memory.reserved == 0
                     ? ""
                     : fmt::format(", at most {} of the GPU's memory reserved, {} of it in use",
                                   program::bytes_text(step.device_memory.reserved),
                                   program::bytes_text(step.device_memory.allocated)),
                 step.skipped > 0 ? fmt::format(", {} skipped", step.skipped) : "",
                 terminal ? "\x1b[K" : "\n");
      std::fflush(stderr);
    };
    return events;
  }

  Json to_json(const FitResult& result) const {
    Json json = {
        {"device", describe(options_.device)},
        {"task", name_of(result.recipe.task)},
        {"arch", result.recipe.arch},
        {"parameters", result.parameters},
        {"processes", result.processes},
        {"epochs", result.epochs},
        {"steps", result.steps},
        {"skipped", result.skipped},
        {"stopped", result.stopped},
        {"batch_size", result.recipe.batch_size},
        {"images_per_s", result.images_per_s},
        {"data_wait_share", result.data_wait_share},
        {"loss", result.loss},
        {"val_images", result.val ? Json(result.val->images) : Json()},
        {"checkpoint", result.checkpoint.empty() ? Json() : Json(result.checkpoint.string())},
        {"seconds", result.seconds}};
    for (const ScoreName& name : score_names(result.recipe.task))
      json[log_key(name)] = result.val ? Json(result.val->at(name.key)) : Json();
    return json;
  }

  std::string to_words(const FitResult& result) const {
    std::string text = fmt::format(
        "{} ({} parameters) on {}{}: {}, {}, {} in all\n"
        "training: {} img/s, {:.1f} % of the time waiting for data, loss {:.4f}\n",
        result.recipe.arch, with_commas(static_cast<std::uint64_t>(result.parameters)),
        describe(options_.device),
        result.processes > 1 ? fmt::format(" x {}", result.processes) : "",
        program::count_text(static_cast<std::uint64_t>(result.epochs), "epoch"),
        program::count_text(static_cast<std::uint64_t>(result.steps), "step"),
        program::seconds_text(result.seconds), rate_text(result.images_per_s),
        100 * result.data_wait_share, result.loss);
    if (result.val) {
      text += fmt::format("{} on {}\n", to_text(*result.val),
                          program::count_text(result.val->images, "image"));
    }
    if (!result.checkpoint.empty()) {
      text += "checkpoint: " + printable(result.checkpoint.native()) + "\n";
    }
    return text;
  }

  FitOptions options_;
  RecipeArguments recipe_;
  LoaderArguments loader_;
  program::RemoteArguments remote_;
  RunOptions run_;
  WatchCommandOptions watch_;
  std::string gpu_decode_ = "off", fold_;
  int timeout_s_ = 300, stopped_status_ = 0;
  bool new_head_ = false, resume_if_there_ = false;
  bool json_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<program::Command> make_fit_command() { return std::make_unique<CommandFit>(); }

}  // namespace packhorse::trainer
