#include "packhorse/trainer/train/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/printable.h"
#include "base/stop.h"
#include "checkpoint/checkpoint.h"
#include "input/normalize.h"
#include "input/prefetcher.h"
#include "models/archs.h"
#include "packhorse/base/error.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/reader/loader.h"
#include "packhorse/trainer/train/model_file.h"
#include "train/engine.h"
#include "train/run_state.h"
#include "train/saved_model.h"
#include "train/scoring.h"

namespace packhorse::trainer {

namespace {

bool has_split(const std::filesystem::path& data, const char* name) {
  if (is_url(data.native())) return is_packed_dataset(data / name);
  return std::filesystem::is_directory(data / name);
}

}  // namespace

std::string find_val_split(const std::filesystem::path& data) {
  std::vector<std::string> splits;
  if (!is_url(data.native()) && std::filesystem::is_directory(data))
    splits = reader::annotated_splits(data);
  const auto has = [&](const char* name) {
    if (splits.empty()) return has_split(data, name);
    return std::ranges::find(splits, name) != splits.end();
  };
  if (!has("train")) return "";
  for (const char* name : {"val", "valid", "validation", "test"})
    if (has(name)) return name;
  return "";
}

std::vector<std::string> as_utf8(std::vector<std::string> names) {
  for (std::string& name : names)
    if (!is_utf8(name)) name = printable(name);
  return names;
}

std::vector<std::string> class_texts(const Task& task, const reader::Dataset& dataset) {
  return as_utf8(task.classes(dataset));
}

std::string difference_of_classes(const std::vector<std::string>& model,
                                  const std::vector<std::string>& data) {
  const auto differ = std::mismatch(model.begin(), model.end(), data.begin(), data.end());
  return differ.first != model.end() && differ.second != data.end()
             ? fmt::format("label {} is '{}' in the model, but '{}' here",
                           differ.first - model.begin(), *differ.first, *differ.second)
             : fmt::format("the model has {} classes, the data has {}", model.size(), data.size());
}

void check_classes(const std::vector<std::string>& classes, const Task& task,
                   const reader::Dataset& dataset, const std::filesystem::path& path) {
  const std::vector<std::string> here = class_texts(task, dataset);
  if (here == classes) return;
  throw Error(ErrorKind::kUsage,
              "the classes differ from the model's: " + difference_of_classes(classes, here), path,
              "use data with the class list of the training data (`pack(classes=FILE)` fixes it)");
}

Scores score(Engine& engine, const Recipe& recipe, const ScoreOptions& how,
             const std::shared_ptr<const reader::Dataset>& dataset, const Processes& processes,
             std::stop_token stop) {
  reader::LoaderOptions options;
  options.batch_size = how.batch_size.value_or(
      std::max<std::int64_t>(1, recipe.batch_size / (processes.size() * recipe.accumulate)));
  options.workers = how.workers;
  options.limits = how.limits;
  const auto task = make_task(recipe);
  task->read_for_scoring(options);
  choose_bands(recipe, options);
  options.order = reader::OrderKind::kSequential;
  options.seed = recipe.seed;
  options.allocator = slot_allocator(how.device);
  engine.share_statistics();
  const auto scorer = task->scorer(dataset, {how.observer, how.limits});
  const auto add = [&](std::uint64_t done) {
    try {
      const StopScope scope(stop);
      reader::Loader loader(dataset, options);
      Prefetcher batches(loader, how.device);
      batches.start_epoch(0, done);
      engine.evaluate(batches, *scorer, stop);
    } catch (const Error& error) {  // a stop: below, where all processes hear of it
      if (error.kind() != ErrorKind::kInterrupted || !stop.stop_requested()) throw;
    }
  };
  // Each process scores an equal share of whole batches; the first process scores the rest.
  const auto together = static_cast<std::uint64_t>(options.batch_size * processes.size());
  const std::uint64_t shared = processes.size() == 1 ? 0 : dataset->size() / together * together;
  if (shared > 0) {
    options.rank = processes.rank();
    options.world = processes.size();
    add(0);
  }
  options.rank = 0;
  options.world = 1;
  options.tail = reader::Tail::kKeep;
  if (processes.first() && shared < dataset->size()) add(shared);

  if (processes.any(stop.stop_requested())) {
    throw Error(ErrorKind::kInterrupted, "the evaluation was interrupted");
  }
  scorer->join(processes);
  return scorer->scores();
}

EvaluateResult evaluate(const EvaluateOptions& options, std::stop_token stop) {
  const SavedModel model(options.model);
  const std::string split = options.split.empty() ? find_val_split(options.data) : options.split;
  const auto dataset = reader::Dataset::open(options.data, split);
  EvaluateResult result;
  result.state = model.state();
  const Recipe& recipe = result.state.recipe;
  if (model.is_checkpoint()) {
    check_classes(result.state.classes, *make_task(recipe), *dataset, options.data);
  } else {
    result.state.classes = class_texts(*make_task(recipe), *dataset);
  }
  if (options.observer && recipe.task != TaskKind::kDetect)
    throw Error(ErrorKind::kUsage, "there is a report of pictures only where objects are found",
                options.data, "leave out `report=`");
  Engine engine(recipe, static_cast<std::int64_t>(result.state.classes.size()),
                {.device = options.device});
  const std::vector<std::string> named = model.load_into(engine);
  if (!model.is_checkpoint() && !named.empty())
    check_classes(named, *make_task(recipe), *dataset, options.data);
  const ScoreOptions how{options.device, options.workers, options.batch_size, options.limits,
                         options.observer};
  result.scores = score(engine, recipe, how, dataset, Processes(), std::move(stop));
  result.dataset = dataset;
  return result;
}

SavedModel::SavedModel(ModelFile file) : file_(std::move(file)) {
  if (file_.weights.empty()) {
    checkpoint_ = read_checkpoint(file_.checkpoint);
    state_ = from_meta(checkpoint_->meta, file_.checkpoint);
  } else {
    state_.recipe = resolve(file_.recipe, default_recipe(file_.recipe));
    const auto channels = static_cast<std::size_t>(state_.recipe.channels);
    if (file_.bands.mean.size() != channels || file_.bands.stddev.size() != channels)
      throw Error(ErrorKind::kUsage,
                  "weights of " + std::to_string(channels) +
                      " channels need as many means and standard deviations of their bands",
                  file_.weights, "give `mean=` and `std=`, as `fit()` printed them");
    for (const double deviation : file_.bands.stddev)
      if (!(deviation > 0))
        throw Error(ErrorKind::kUsage, "a standard deviation must be above 0", file_.weights,
                    "give `std=`, as `fit()` printed it");
  }
}

std::vector<std::string> SavedModel::load_into(Engine& engine) const {
  if (!checkpoint_) {
    if (!file_.bands.mean.empty()) engine.set_normalization(file_.bands);
    return engine.init_from(file_.weights, {Head::kFromFile, file_.pixels}).classes;
  }
  engine.load_model(*checkpoint_, file_.checkpoint);
  return state_.classes;
}

std::string export_script(const std::filesystem::path& path, const Device& device) {
  const Checkpoint checkpoint = read_checkpoint(path);
  const RunState state = from_meta(checkpoint.meta, path);
  const Recipe& recipe = state.recipe;
  Engine engine(recipe, static_cast<std::int64_t>(state.classes.size()), {.device = device});
  engine.load_model(checkpoint, path);
  const Normalization& normalization = engine.normalization();
  const nlohmann::json text = {{"task", name_of(recipe.task)}, {"arch", recipe.arch},
                               {"classes", state.classes},     {"image_size", recipe.image_size},
                               {"mean", normalization.mean},   {"stddev", normalization.stddev}};
  return engine.traced(text.dump());
}

}  // namespace packhorse::trainer
