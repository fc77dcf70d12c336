#include "packhorse/trainer/archs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "packhorse/error.h"

namespace packhorse::trainer {

const Arch& find_arch(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Arch& arch : all_archs()) {
    if (arch.name == name) return arch;
    names.push_back(arch.name);
  }
  throw Error(ErrorKind::kUsage, fmt::format("there is no arch '{}'", name), {},
              fmt::format("choose one of: {}", fmt::join(names, ", ")));
}

Recipe default_recipe(const Arch& arch) {
  Recipe recipe;
  recipe.arch = arch.name;
  recipe.image_size = arch.image_size;
  recipe.augment = arch.augment;
  recipe.epochs = arch.epochs;
  recipe.batch_size = arch.batch_size;
  recipe.lr = arch.lr;
  recipe.weight_decay = arch.weight_decay;
  recipe.warmup_epochs = arch.warmup_share * arch.epochs;
  return recipe;
}

}  // namespace packhorse::trainer
