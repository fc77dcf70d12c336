#include "packhorse/trainer/recipe/recipe.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "models/archs.h"
#include "recipe/recipe_json.h"
#include "recipe/recipe_table.h"
#include "support/support.h"

using namespace packhorse;
using namespace packhorse::trainer;

TEST_CASE("recipe: choices replace defaults, the warm-up keeps its share") {
  const Recipe base = default_recipe(find_arch("smallnet"));
  RecipeChoices choices;
  choices.epochs = 12;
  choices.lr = 0.05;
  const Recipe recipe = resolve(choices, base);
  CHECK(recipe.lr == 0.05);
  CHECK(recipe.warmup_epochs == doctest::Approx(2 * base.warmup_epochs));
  CHECK(recipe.weight_decay == base.weight_decay);
}

TEST_CASE("recipe: the learning rate follows the batch, unless it is chosen") {
  const Recipe base = default_recipe(find_arch("resnet50"));
  RecipeChoices choices;
  choices.batch_size = 1024;
  CHECK(resolve(choices, base).lr == doctest::Approx(0.4));
  choices.lr = 0.3;
  CHECK(resolve(choices, base).lr == 0.3);
}

TEST_CASE("recipe: another optimiser brings its learning rate and weight decay") {
  const Recipe base = default_recipe(find_arch("resnet50"));
  RecipeChoices choices;
  choices.optimizer = OptimizerKind::kAdamW;
  choices.batch_size = 1024;
  CHECK(resolve(choices, base).lr == doctest::Approx(1e-3));
  CHECK(resolve(choices, base).weight_decay == 0.05);
  choices.weight_decay = 0.3;
  CHECK(resolve(choices, base).weight_decay == 0.3);
}

TEST_CASE("recipe: survives JSON") {
  Recipe recipe = default_recipe(find_arch("resnet50"));
  recipe.amp = Amp::kFp16;
  recipe.optimizer = OptimizerKind::kLars;
  recipe.non_finite = NonFinite::kSkip;
  recipe.mixup_alpha = 0.2;
  recipe.sync_bn = true;
  recipe.seed = 1u << 31;
  recipe.pixel_steps = "ColorJitter(hue=0.1), RandomErasing(0.25)";
  CHECK(nlohmann::json(recipe).get<Recipe>() == recipe);
}

TEST_CASE("recipe: those from before pixel steps had a text mean the same steps") {
  nlohmann::json json = default_recipe(find_arch("smallnet"));
  json.erase("pixel_steps");
  CHECK(json.get<Recipe>().pixel_steps.empty());
  json["color_jitter"] = 0.4;
  json["erasing"] = 0.25;
  CHECK(text_of(reader::parse_pixel_steps(json.get<Recipe>().pixel_steps)) ==
        "ColorJitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1), "
        "RandomErasing(p=0.25)");
}

TEST_CASE("recipe: each setting is what its text says, and has a place of its own in the JSON") {
  Recipe recipe = default_recipe(find_arch("resnet50"));
  recipe.pixel_steps = "RandomErasing(0.25)";
  std::set<std::string_view> names, keys;
  for (const RecipeOption& setting : recipe_options()) {
    CAPTURE(setting.name);
    RecipeChoices choices;
    setting.set(choices, {setting.text_in(recipe)});
    Recipe other;
    setting.choose(choices, other);
    CHECK(setting.text_in(other) == setting.text_in(recipe));
    CHECK(setting.text(choices) == setting.text_in(recipe));
    CHECK(names.insert(setting.name).second);
    CHECK(keys.insert(setting.key).second);
  }
  CHECK(nlohmann::json(recipe).size() == keys.size());
}

TEST_CASE("recipe: nonsense is a usage error") {
  const Recipe base = default_recipe(find_arch("smallnet"));
  RecipeChoices choices;
  SUBCASE("no epochs") { choices.epochs = 0; }
  SUBCASE("negative rate") { choices.lr = -1; }
  SUBCASE("all smoothing") { choices.label_smoothing = 1; }
  SUBCASE("warm-up beyond the end") { choices.warmup_epochs = 7; }
  SUBCASE("no parts") { choices.accumulate = 0; }
  SUBCASE("an average that never moves") { choices.ema_decay = 1; }
  SUBCASE("negative Mixup") { choices.mixup_alpha = -1; }
  SUBCASE("too much colour") { choices.pixel_steps = "ColorJitter(hue=3)"; }
  SUBCASE("a picture of one pixel") { choices.image_size = 1; }
  SUBCASE("a rate of nothing") { choices.lr = 0; }
  SUBCASE("a rate that is no number") { choices.lr = std::nan(""); }
  CHECK(test::kind_of_error([&] { resolve(choices, base); }) == ErrorKind::kUsage);
}

TEST_CASE("recipe: every augmentation has an evaluation of the same size") {
  Recipe recipe = default_recipe(find_arch("smallnet"));
  for (const std::string_view name : names_of<AugmentKind>()) {
    recipe.augment = parse_name<AugmentKind>("augmentation", name);
    CHECK(name_of(recipe.augment) == name);
    CHECK(reader::output_size(train_augment(recipe)).width == 32);
    CHECK(reader::output_size(eval_augment(recipe)).width == 32);
    reader::validate(train_augment(recipe));
    reader::validate(eval_augment(recipe));
  }
}

TEST_CASE("recipe: rrc evaluates as torchvision does, 256 to 224") {
  const auto crop =
      std::get<reader::ResizeCenterCrop>(eval_augment(default_recipe(find_arch("resnet18"))));
  CHECK(crop.resize == 256);
  CHECK(crop.size == 224);
}
