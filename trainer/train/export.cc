#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "input/normalize.h"
#include "packhorse/trainer/train/model_file.h"
#include "train/engine.h"
#include "train/run_state.h"

namespace packhorse::trainer {

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
