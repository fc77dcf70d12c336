#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "packhorse/trainer/recipe.h"

namespace packhorse::trainer {

class Model;

/// A network one can name with --arch, and the training settings that suit it.
struct Arch {
  std::string_view name;
  std::string_view summary;  ///< one line for help
  std::shared_ptr<Model> (*make)(std::int64_t classes);
  int image_size;  ///< pixels, both sides
  AugmentKind augment;
  int epochs;
  std::int64_t batch_size;
  double lr;  ///< at that batch size
  double weight_decay;
  double warmup_share;  ///< of all epochs
};

/// A new network is a function in models.cc and one line of this list.
std::span<const Arch> all_archs();

/// Throws Error(kUsage) with the names there are.
const Arch& find_arch(std::string_view name);

/// The settings a run of `arch` has when nothing else is asked for.
Recipe default_recipe(const Arch& arch);

}  // namespace packhorse::trainer
