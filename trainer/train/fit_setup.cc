#include "train/fit_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/option.h"
#include "base/printable.h"
#include "models/archs.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/dataset_views.h"
#include "packhorse/trainer/train/evaluate.h"
#include "recipe/recipe_table.h"
#include "train/run_state.h"
#include "train/scoring.h"

namespace packhorse::trainer {
namespace {

/// Where nobody says what is to be learnt: the classes of images, of which a dataset of objects has
/// one alone.
void refuse_single_class(const FitOptions& options, const Recipe& recipe,
                         const reader::Dataset& train) {
  const auto is_objects = [](const TargetRecord& target) { return target.kind == kObjectsTarget; };
  if (options.recipe.task || recipe.task != TaskKind::kClassify || train.classes().size() != 1 ||
      std::ranges::none_of(train.targets(), is_objects))
    return;
  throw Error(ErrorKind::kUsage,
              fmt::format("all images are of the class '{}', and their objects are what can be "
                          "learnt",
                          printable(train.classes().front())),
              options.data, "`task=detect` learns the objects; `task=classify` the one class");
}

Recipe new_recipe(const FitOptions& options, const reader::Dataset& train,
                  const Processes& processes) {
  Recipe base = default_recipe(options.recipe);
  base.order = options.recipe.weights ? reader::OrderKind::kGlobal : train.usual_order();
  Recipe recipe = resolve(options.recipe, base);
  const std::int64_t parts = processes.size() * recipe.accumulate;
  const auto all = static_cast<std::int64_t>(train.size());
  if (recipe.batch_size > all && !options.recipe.batch_size) {
    RecipeChoices choices = options.recipe;
    choices.batch_size = std::max<std::int64_t>(1, all / parts) * parts;
    recipe = resolve(choices, base);
  }
  if (recipe.batch_size > all) {
    throw Error(ErrorKind::kUsage,
                fmt::format("there are only {} images to train on, fewer than one batch of {}",
                            train.size(), recipe.batch_size),
                options.data, "use a smaller `batch_size=`");
  }
  part_size(recipe, processes);
  return recipe;
}

/// Refuses settings that may not change in the middle of a run.
void check_resumable(const RunState& state, const Recipe& recipe, const reader::Dataset& train,
                     const FitOptions& options, const std::filesystem::path& checkpoint) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::kUsage, "the run cannot continue with " + what, checkpoint,
                "leave that option out, or start a new run in another `out=`");
  };
  const Recipe& old = state.recipe;
  for (const RecipeOption& setting : recipe_options()) {
    const std::string before = setting.text_in(old);
    if (setting.fixed && setting.text_in(recipe) != before)
      refuse("another " + opt(setting.name) + " (it is " + before + ")");
  }
  if ((recipe.ema_decay > 0) != (old.ema_decay > 0)) {
    refuse(old.ema_decay > 0 ? "no `ema_decay=`" : "an `ema_decay=`, which it did not have");
  }
  if (train.size() != state.train_samples) {
    refuse(fmt::format("other data: it had {} images, {} has {}", state.train_samples,
                       options.data.string(), train.size()));
  }
  check_classes(state.classes, *make_task(old), train, options.data);
}

/// Other images than those that the run had, or the same in another order: refused in the middle of
/// an epoch, of which some would come twice and others never. Returns a note.
std::string compare_data(RunState& state, const reader::Dataset& train, const FitOptions& options) {
  const std::string before = std::exchange(state.data, train.id());
  if (before.empty() || before == state.data) return {};
  const std::string what =
      fmt::format("the data are others than before, or packed anew: their id is {}, it was {}",
                  state.data.substr(0, 12), before.substr(0, 12));
  if (state.done > 0 && !options.other_data) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{}, and the run is in the middle of an epoch, at {} of {} images",
                            what, state.done, state.train_samples),
                options.data,
                "give the data it had; `other_data=` goes on at that place of the others' epoch");
  }
  return what;
}

Beginning resume_run(const FitOptions& options, const reader::Dataset& train,
                     const Processes& processes, const CheckpointStore& store) {
  if (!options.init_from.empty()) {
    throw Error(ErrorKind::kUsage, "`init_from=` starts a run, and `resume=` continues one", {},
                "leave out one of them");
  }
  if (options.out.empty()) {
    throw Error(ErrorKind::kUsage, "`resume=` needs `out=`, the directory with last.pt");
  }
  const std::filesystem::path last = store.last();
  if (!std::filesystem::exists(last)) {
    throw Error(ErrorKind::kNotFound, "there is no run to continue", last,
                "leave out `resume=` to start one");
  }
  store.refuse_replaced();
  Beginning beginning{.state = {}, .checkpoint = read_checkpoint(last), .note = {}};
  beginning.state = from_meta(beginning.checkpoint->meta, last);
  const Recipe resumed = resolve(options.recipe, beginning.state.recipe);
  check_resumable(beginning.state, resumed, train, options, last);
  part_size(resumed, processes);
  beginning.note = compare_data(beginning.state, train, options);
  beginning.state.recipe = resumed;
  return beginning;
}

}  // namespace

DatasetPtr open_train(const FitOptions& options) {
  const DatasetPtr all = reader::Dataset::open(options.data, options.split);
  return options.fold ? subset(all, choose(*all, {.fold = options.fold})) : all;
}

DatasetPtr open_val(const FitOptions& options) {
  if (options.fold && options.val.empty()) {
    const DatasetPtr all = reader::Dataset::open(options.data, options.split);
    reader::Fold part = *options.fold;
    part.held_out = true;
    return subset(all, choose(*all, {.fold = part}));
  }
  if (!options.val.empty()) return reader::Dataset::open(options.val, find_val_split(options.val));
  const std::string split = find_val_split(options.data);
  return split.empty() ? nullptr : reader::Dataset::open(options.data, split);
}

Beginning begin_run(const FitOptions& options, const reader::Dataset& train,
                    const Processes& processes, const CheckpointStore& store) {
  if (options.resume) return resume_run(options, train, processes, store);
  Beginning beginning;
  beginning.state.recipe = new_recipe(options, train, processes);
  const Recipe& recipe = beginning.state.recipe;
  refuse_single_class(options, recipe, train);
  if (recipe.task == TaskKind::kClassify && train.classes().size() == 1)
    beginning.note = "all images are of one class, so there is nothing to learn";
  beginning.state.classes = class_texts(*make_task(beginning.state.recipe), train);
  beginning.state.train_samples = train.size();
  beginning.state.data = train.id();
  if (options.out.empty() || !processes.first()) return beginning;
  if (std::filesystem::exists(store.last()) && !options.overwrite) {
    throw Error(ErrorKind::kExists, "there is already a run", options.out,
                "continue it with `resume=`, replace it with `overwrite=`, or use another `out=`");
  }
  return beginning;
}

std::int64_t part_size(const Recipe& recipe, const Processes& processes) {
  const std::int64_t parts = processes.size() * recipe.accumulate;
  if (recipe.batch_size % parts == 0) return recipe.batch_size / parts;
  throw Error(ErrorKind::kUsage,
              fmt::format("a batch of {} cannot be divided between {} processes in {} parts each",
                          recipe.batch_size, processes.size(), recipe.accumulate),
              {}, fmt::format("use a `batch_size=` that is a multiple of {}", parts));
}

}  // namespace packhorse::trainer
