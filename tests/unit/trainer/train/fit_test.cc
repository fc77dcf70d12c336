#include "packhorse/trainer/train/fit.h"

#include <ATen/ops/isfinite.h>

#include <fstream>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "input/prefetcher.h"
#include "models/archs.h"
#include "packhorse/trainer/train/evaluate.h"
#include "support/support.h"
#include "train/engine.h"
#include "train/run_state.h"
#include "unit/trainer/toy_set.h"

using namespace packhorse;
using namespace packhorse::trainer;

namespace {

/// The folders train/ and test/ with three colours, and the options of a short run on them.
struct Toy {
  Toy() {
    test::make_toy_set(directory / "data/train", 3, 32);
    test::make_toy_set(directory / "data/test", 3, 5);
  }
  FitOptions options(const std::string& out, int workers = 0) const {
    FitOptions options;
    options.data = directory / "data";
    options.out = directory / out;
    options.workers = workers;
    options.recipe.arch = "smallnet";
    options.recipe.image_size = 16;
    options.recipe.augment = AugmentKind::kPadCrop;
    options.recipe.batch_size = 16;
    options.recipe.epochs = 3;
    options.recipe.lr = 0.1;
    options.recipe.seed = 5;
    return options;
  }
  test::TemporaryDirectory directory;
};

bool same(const NamedTensors& x, const NamedTensors& y) {
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].first != y[i].first || !x[i].second.equal(y[i].second)) return false;
  }
  return true;
}

bool same_tensors(const std::filesystem::path& a, const std::filesystem::path& b) {
  const Checkpoint left = read_checkpoint(a), right = read_checkpoint(b);
  for (const auto& [slot, tensors] : left.optimizer) {
    if (!same(tensors, right.optimizer.at(slot))) return false;
  }
  return same(left.model, right.model) && same(left.ema, right.ema) &&
         left.scaler.defined() == right.scaler.defined() &&
         (!left.scaler.defined() || left.scaler.equal(right.scaler));
}

std::size_t lines_of(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("fit: learns a toy set, scores its test split and logs each epoch") {
  const Toy toy;
  std::vector<EpochLog> seen;
  FitEvents events;
  events.epoch = [&](const EpochLog& log, int epochs) {
    CHECK(epochs == 3);
    seen.push_back(log);
  };
  const FitResult result = fit(toy.options("run"), events);
  REQUIRE(seen.size() == 3);
  CHECK(seen[2].train_loss < 0.6 * seen[0].train_loss);
  CHECK(result.steps == 18);
  CHECK(result.epochs == 3);
  CHECK(result.parameters == 288'746 - 7 * 129);
  REQUIRE(result.val);
  CHECK(result.val->images == 15);
  CHECK(result.val->at("top1") >= 80);
  CHECK(result.val->at("top5") == 100);
  CHECK(result.loss == seen[2].train_loss);
  CHECK(lines_of(toy.directory / "run/log.jsonl") == 3);
  CHECK(lines_of(toy.directory / "run/log.csv") == 4);
}

TEST_CASE("fit: class names that are no UTF-8 are written printably, and are the same afterwards") {
  const Toy toy;
  for (const char* split : {"train", "test"})
    std::filesystem::rename(toy.directory / "data" / split / "red", toy.directory / "data" / split /
                                                                        "r\xe9"
                                                                        "d");
  FitOptions options = toy.options("out");
  options.recipe.epochs = 1;
  fit(options);
  const auto classes = read_checkpoint(toy.directory / "out/last.pt").meta.at("classes");
  CHECK(std::count(classes.begin(), classes.end(), "r\\xe9d") == 1);
  options.resume = true;
  fit(options);
  EvaluateOptions scored;
  scored.model.checkpoint = toy.directory / "out/last.pt";
  scored.data = toy.directory / "data";
  CHECK(evaluate(scored).scores.images == 15);
}

TEST_CASE("fit: nothing is learnt from samples that are left out") {
  FitOptions options;
  options.bad_samples.policy = reader::BadSamplePolicy::kLeaveOut;
  CHECK(test::kind_of_error([&] { fit(options); }) == ErrorKind::kUsage);
}

TEST_CASE("fit: evaluating the checkpoint repeats its figures exactly") {
  const Toy toy;
  const FitResult result = fit(toy.options("run"));
  EvaluateOptions options;
  options.model.checkpoint = result.checkpoint;
  options.data = toy.directory / "data";
  const EvaluateResult again = evaluate(options);
  CHECK(again.scores.at("top1") == result.val->at("top1"));
  CHECK(again.scores.at("top5") == result.val->at("top5"));
  CHECK(again.scores.at("loss") == result.val->at("loss"));
  CHECK(again.state.classes == std::vector<std::string>{"blue", "green", "red"});
}

TEST_CASE(
    "fit: checkpoints with a recipe that makes no sense, or without an average, are refused") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.recipe.epochs = 1;
  options.recipe.ema_decay = 0.9;
  Checkpoint checkpoint = read_checkpoint(fit(options).checkpoint);
  const auto refused = [&](const Checkpoint& changed) {
    write_checkpoint(toy.directory / "changed.pt", changed);
    EvaluateOptions scored;
    scored.model.checkpoint = toy.directory / "changed.pt";
    scored.data = toy.directory / "data";
    return test::kind_of_error([&] { evaluate(scored); }) == ErrorKind::kCorrupt;
  };
  Checkpoint senseless = checkpoint;
  senseless.meta["recipe"]["accumulate"] = 0;
  CHECK(refused(senseless));
  checkpoint.ema.clear();
  CHECK(refused(checkpoint));
}

TEST_CASE("fit: a run resumed in the middle of an epoch ends with the same parameters") {
  const Toy toy;
  int workers = 0;
  SUBCASE("no workers") {}
  SUBCASE("two workers") { workers = 2; }
  fit(toy.options("whole"));
  FitOptions options = toy.options("parts", workers);
  options.max_steps = 8;
  CHECK(fit(options).steps == 8);
  FitOptions rest;  // omitted options keep their values
  rest.data = options.data;
  rest.out = options.out;
  rest.workers = workers;
  rest.resume = true;
  const FitResult result = fit(rest);
  CHECK(result.steps == 18);
  CHECK(same_tensors(toy.directory / "whole/last.pt", toy.directory / "parts/last.pt"));
  const RunState whole = read_run_state(toy.directory / "whole/last.pt");
  const RunState parts = read_run_state(toy.directory / "parts/last.pt");
  REQUIRE(parts.history.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(parts.history[i].train_loss ==
          doctest::Approx(whole.history[i].train_loss).epsilon(1e-9));
    CHECK(parts.history[i].scores->values == whole.history[i].scores->values);
    CHECK(parts.history[i].lr == whole.history[i].lr);
  }
}

TEST_CASE("fit: a requested stop saves, and resuming ends as if nothing had happened") {
  const Toy toy;
  fit(toy.options("whole"));
  FitOptions options = toy.options("parts");
  options.checkpoint_every = 1;
  for (int step = 1; step <= 6; ++step) {
    std::stop_source stop;
    FitEvents events;
    events.step = [&](const StepReport&) { stop.request_stop(); };  // so each call does one step
    const FitResult result = fit(options, events, stop.get_token());
    options.resume = true;
    CHECK(result.stopped);
    CHECK(result.steps == step);
    CHECK(read_run_state(toy.directory / "parts/last.pt").step == step);
  }
  CHECK(fit(options).epochs == 3);
  CHECK(same_tensors(toy.directory / "whole/last.pt", toy.directory / "parts/last.pt"));
}

TEST_CASE("fit: a stop before the first step leaves a run that can be resumed") {
  const Toy toy;
  fit(toy.options("whole"));
  std::stop_source stop;
  stop.request_stop();
  FitOptions options = toy.options("parts", 1);
  const FitResult result = fit(options, {}, stop.get_token());
  CHECK(result.stopped);
  CHECK(result.steps == 0);
  options.resume = true;
  CHECK(fit(options).epochs == 3);
  CHECK(same_tensors(toy.directory / "whole/last.pt", toy.directory / "parts/last.pt"));
}

TEST_CASE("engine: parts of a step that are dropped leave nothing") {
  const Toy toy;
  const auto dataset = reader::Dataset::open(toy.directory / "data/train");
  RecipeChoices choices = toy.options("").recipe;
  choices.accumulate = 2;
  const Recipe recipe = resolve(choices, default_recipe(choices));
  Engine engine(recipe, 3, {});
  reader::LoaderOptions options;
  options.batch_size = 8;
  options.workers = 0;
  make_task(recipe)->read_for_training(options);
  reader::Loader loader(dataset, options);
  Prefetcher batches(loader, {});
  batches.start_epoch(0);
  const auto train = [&](std::int64_t part) {
    engine.train(*batches.next(), {.step = 0, .part = part, .lr = 0.1});
  };
  const Checkpoint before = engine.snapshot({});
  train(0);
  CHECK_FALSE(same(before.model, engine.snapshot({}).model));  // running statistics
  engine.drop_parts();
  CHECK(same(before.model, engine.snapshot({}).model));
  CHECK(engine.report().loss == 0);
  train(0);
  train(1);
  CHECK(engine.report().loss > 0);
}

TEST_CASE("fit: a requested stop without anywhere to save to is an error") {
  const Toy toy;
  std::stop_source stop;
  stop.request_stop();
  FitOptions options = toy.options("run");
  options.out.clear();
  CHECK(test::kind_of_error([&] { fit(options, {}, stop.get_token()); }) ==
        ErrorKind::kInterrupted);
}

TEST_CASE("fit: resuming a finished run changes nothing and scores it") {
  const Toy toy;
  const FitResult first = fit(toy.options("run"));
  FitOptions options = toy.options("run");
  options.resume = true;
  const FitResult second = fit(options);
  CHECK(second.steps == first.steps);
  CHECK(second.val->at("loss") == first.val->at("loss"));
}

TEST_CASE("fit: checkpoints in the middle of an epoch do not disturb it") {
  const Toy toy;
  fit(toy.options("whole"));
  FitOptions options = toy.options("often");
  options.checkpoint_every = 1;
  fit(options);
  CHECK(same_tensors(toy.directory / "whole/last.pt", toy.directory / "often/last.pt"));
}

TEST_CASE("fit: refuses an --out in use, and replaces it when told to") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.max_steps = 1;
  fit(options);
  CHECK(test::kind_of_error([&] { fit(options); }) == ErrorKind::kExists);
  options.overwrite = true;
  CHECK(fit(options).steps == 1);
}

TEST_CASE("fit: refuses to resume another run") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.max_steps = 1;
  fit(options);
  options.resume = true;
  SUBCASE("other seed") { options.recipe.seed = 6; }
  SUBCASE("other network") { options.recipe.arch = "resnet18"; }
  SUBCASE("other batch") { options.recipe.batch_size = 8; }
  SUBCASE("other data") { options.data = toy.directory / "data/test"; }
  CHECK(test::kind_of_error([&] { fit(options); }) == ErrorKind::kUsage);
}

TEST_CASE("fit: a val set of other classes is an error") {
  const Toy toy;
  test::make_toy_set(toy.directory / "two", 2, 4);
  FitOptions options = toy.options("run");
  options.val = toy.directory / "two";
  CHECK(test::kind_of_error([&] { fit(options); }) == ErrorKind::kUsage);
  CHECK_FALSE(std::filesystem::exists(toy.directory / "run/last.pt"));
}

TEST_CASE("fit: a batch larger than the data is an error, unless it is only the default") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.recipe.batch_size = 1000;
  CHECK(test::kind_of_error([&] { fit(options); }) == ErrorKind::kUsage);
  options.recipe.batch_size.reset();
  options.max_steps = 1;
  CHECK(fit(options).recipe.batch_size == 96);
}

TEST_CASE("fit: a loss that is not finite stops the run before it is saved") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.recipe.lr = 1e30;
  CHECK(test::kind_of_error([&] { fit(options); }) == ErrorKind::kUnsupported);
  CHECK_FALSE(std::filesystem::exists(toy.directory / "run/last.pt"));
}

TEST_CASE("fit: no checkpoint has a number that is not finite") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.checkpoint_every = 1;
  options.recipe.lr = 1e38;  // with this weight decay, the first step exceeds float32
  options.recipe.weight_decay = 1e4;
  CHECK(test::kind_of_error([&] { fit(options); }) == ErrorKind::kUnsupported);
  CHECK_FALSE(std::filesystem::exists(toy.directory / "run/last.pt"));
}

TEST_CASE("fit: what is said of a run that diverged holds for its checkpoint") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.checkpoint_every = 1;
  options.recipe.lr = 3e18;  // finite after the first step, not after the second
  try {
    fit(options);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnsupported);
    CHECK(error.advice().find("may be from after the step that went wrong") != std::string::npos);
  }
  for (const auto& [name, tensor] : read_checkpoint(toy.directory / "run/last.pt").model) {
    CHECK_MESSAGE(tensor.isfinite().all().item<bool>(), name);
  }
}

TEST_CASE("fit: scores are taken in the precision of the training") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.max_steps = 6;
  fit(options);
  options.resume = true;
  const double full = fit(options).val->at("loss");
  options.recipe.amp = Amp::kBf16;
  const double low = fit(options).val->at("loss");
  CHECK(low != full);
  CHECK(low == doctest::Approx(full).epsilon(0.05));
}

TEST_CASE("fit: bfloat16 and label smoothing train too") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.recipe.amp = Amp::kBf16;
  options.recipe.label_smoothing = 0.1;
  options.recipe.channels_last = false;
  CHECK(fit(options).val->at("top1") >= 60);
}

TEST_CASE("fit: float16 with a loss scale trains, and resumes exactly") {
  const Toy toy;
  const auto small = [&](const char* out) {  // a CPU computes float16 slowly
    FitOptions made = toy.options(out);
    made.recipe.amp = Amp::kFp16;
    made.recipe.image_size = 8;
    return made;
  };
  CHECK(fit(small("whole")).val->at("top1") >= 60);
  FitOptions parts = small("parts");
  parts.max_steps = 8;
  fit(parts);
  parts.max_steps = 0;
  parts.resume = true;
  fit(parts);
  CHECK(same_tensors(toy.directory / "whole/last.pt", toy.directory / "parts/last.pt"));
  CHECK(read_checkpoint(toy.directory / "whole/last.pt").scaler[0].item<double>() > 0);
}

TEST_CASE("fit: every optimiser learns, and resumes exactly with all that shapes a step") {
  const Toy toy;
  const auto options = [&](const char* out, OptimizerKind kind) {
    FitOptions made = toy.options(out);
    made.recipe.optimizer = kind;
    made.recipe.lr = kind == OptimizerKind::kAdamW ? 0.01 : kind == OptimizerKind::kLars ? 5 : 0.1;
    made.recipe.ema_decay = 0.9;
    made.recipe.clip_norm = 5;
    made.recipe.mixup_alpha = 0.2;
    made.recipe.cutmix_alpha = 0.2;
    made.recipe.accumulate = 2;
    made.recipe.label_smoothing = 0.05;
    return made;
  };
  for (const auto kind : {OptimizerKind::kSgd, OptimizerKind::kAdamW, OptimizerKind::kLars}) {
    CAPTURE(name_of(kind));
    FitOptions whole = options("whole", kind), parts = options("parts", kind);
    whole.overwrite = parts.overwrite = true;
    const FitResult result = fit(whole);
    CHECK(result.val->at("top1") >= 60);
    parts.max_steps = 8;
    fit(parts);
    parts.max_steps = 0;
    parts.resume = true;
    fit(parts);
    CHECK(same_tensors(toy.directory / "whole/last.pt", toy.directory / "parts/last.pt"));
    EvaluateOptions again;
    again.model.checkpoint = toy.directory / "whole/last.pt";
    again.data = toy.directory / "data";
    CHECK(evaluate(again).scores.at("loss") == result.val->at("loss"));
  }
}

TEST_CASE("fit: skips steps that are not finite, when told to, and gives up when all are") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.recipe.non_finite = NonFinite::kSkip;
  options.recipe.lr = 1e30;
  CHECK(test::kind_of_error([&] { fit(options); }) == ErrorKind::kUnsupported);
  options.recipe.lr = 0.1;
  options.overwrite = true;  // the run before saved a checkpoint when it gave up
  CHECK(fit(options).skipped == 0);
}

TEST_CASE("fit: keeps the latest checkpoints, and runs a command for each") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.checkpoint_every = 2;
  options.keep = 3;
  options.after_save = "basename \"$1\" >> '" + (toy.directory / "saved").string() + "'";
  fit(options);
  const auto kept = [&](const char* name) {
    return std::filesystem::exists(toy.directory / "run" / name);
  };
  CHECK(kept("step-000000018.pt"));
  CHECK(kept("step-000000014.pt"));
  CHECK_FALSE(kept("step-000000012.pt"));
  CHECK(same_tensors(toy.directory / "run/last.pt", toy.directory / "run/step-000000018.pt"));
  CHECK(lines_of(toy.directory / "saved") == 9);
  options.overwrite = true;
  options.max_steps = 1;
  fit(options);
  CHECK_FALSE(kept("step-000000018.pt"));  // another run's
}

TEST_CASE("fit: a command that fails is told of and ends nothing") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.after_save = "exit 7";
  std::vector<std::string> notes;
  FitEvents events;
  events.note = [&](const std::string& note) { notes.push_back(note); };
  CHECK(fit(options, events).epochs == 3);
  REQUIRE_FALSE(notes.empty());
  CHECK(notes[0].find("exit status 7") != std::string::npos);
}

TEST_CASE("fit: a batch that its parts do not divide is an error") {
  const Toy toy;
  FitOptions options = toy.options("run");
  options.recipe.accumulate = 3;
  CHECK(test::kind_of_error([&] { fit(options); }) == ErrorKind::kUsage);
}
