#include "packhorse/trainer/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

#include "packhorse/error.h"
#include "packhorse/reader/loader.h"
#include "packhorse/trainer/archs.h"
#include "packhorse/trainer/prefetcher.h"

namespace packhorse::trainer {

std::string find_val_split(const std::filesystem::path& data) {
  if (!std::filesystem::is_directory(data / "train")) return "";
  for (const char* name : {"val", "valid", "validation", "test"}) {
    if (std::filesystem::is_directory(data / name)) return name;
  }
  return "";
}

void check_classes(const std::vector<std::string>& classes, const reader::Dataset& dataset,
                   const std::filesystem::path& path) {
  if (dataset.classes() == classes) return;
  const auto differ = std::mismatch(classes.begin(), classes.end(), dataset.classes().begin(),
                                    dataset.classes().end());
  const std::string first =
      differ.first != classes.end() && differ.second != dataset.classes().end()
          ? fmt::format("label {} is '{}' in the model and '{}' here",
                        differ.first - classes.begin(), *differ.first, *differ.second)
          : fmt::format("the model has {} classes, this has {}", classes.size(),
                        dataset.classes().size());
  throw Error(
      ErrorKind::kUsage, "the classes are not the model's: " + first, path,
      "Use data with the class list of the training data (packhorse pack --classes pins it).");
}

Scores score(Engine& engine, const Recipe& recipe, const Device& device, int workers,
             const std::shared_ptr<const reader::Dataset>& dataset, std::stop_token stop) {
  reader::LoaderOptions options;
  options.batch_size = recipe.batch_size;
  options.workers = workers;
  options.augment = eval_augment(recipe);
  options.order = reader::OrderKind::kSequential;
  options.seed = recipe.seed;
  options.tail = reader::Tail::kKeep;
  options.allocator = slot_allocator(device);
  reader::Loader loader(dataset, options);
  loader.start_epoch(0);
  Prefetcher batches(loader, device);
  return engine.evaluate(batches, std::move(stop));
}

EvaluateResult evaluate(const EvaluateOptions& options, std::stop_token stop) {
  EvaluateResult result;
  const bool plain = !options.weights.empty();
  if (!plain) result.state = read_run_state(options.checkpoint);
  const std::string split = options.split.empty() ? find_val_split(options.data) : options.split;
  const auto dataset = reader::Dataset::open(options.data, split);
  if (plain) {
    result.state.recipe = resolve(
        options.recipe, default_recipe(find_arch(options.recipe.arch.value_or("resnet18"))));
    result.state.classes = dataset->classes();
  }
  check_classes(result.state.classes, *dataset, options.data);
  const Recipe& recipe = result.state.recipe;
  Engine engine(recipe, static_cast<std::int64_t>(result.state.classes.size()), options.device);
  if (plain) {
    engine.init_from(options.weights, Head::kMustFit);
  } else {
    engine.load(options.checkpoint);
  }
  result.scores = score(engine, recipe, options.device, options.workers, dataset, std::move(stop));
  return result;
}

}  // namespace packhorse::trainer
