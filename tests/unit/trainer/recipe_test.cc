#include "packhorse/trainer/recipe.h"

#include <nlohmann/json.hpp>

#include "packhorse/trainer/archs.h"
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

TEST_CASE("recipe: survives JSON") {
  Recipe recipe = default_recipe(find_arch("resnet50"));
  recipe.amp = Amp::kBf16;
  recipe.seed = 1u << 31;
  CHECK(nlohmann::json(recipe).get<Recipe>() == recipe);
}

TEST_CASE("recipe: nonsense is a usage error") {
  const Recipe base = default_recipe(find_arch("smallnet"));
  RecipeChoices choices;
  SUBCASE("no epochs") { choices.epochs = 0; }
  SUBCASE("negative rate") { choices.lr = -1; }
  SUBCASE("all smoothing") { choices.label_smoothing = 1; }
  SUBCASE("warm-up beyond the end") { choices.warmup_epochs = 7; }
  SUBCASE("a picture of one pixel") { choices.image_size = 1; }
  CHECK(test::kind_of_error([&] { resolve(choices, base); }) == ErrorKind::kUsage);
}

TEST_CASE("recipe: every augmentation has an evaluation of the same size") {
  Recipe recipe = default_recipe(find_arch("smallnet"));
  for (const std::string_view name : augment_names()) {
    recipe.augment = parse_augment(name);
    CHECK(name_of(recipe.augment) == name);
    CHECK(reader::output_size(train_augment(recipe)) == 32);
    CHECK(reader::output_size(eval_augment(recipe)) == 32);
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
