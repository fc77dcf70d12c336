#include "recipe_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <span>
#include <vector>

#include "base/file.h"
#include "base/resources.h"
#include "common/checks.h"
#include "models/archs.h"
#include "packhorse/base/error.h"
#include "packhorse/trainer/device/device.h"
#include "recipe/recipe_table.h"

namespace packhorse::trainer {

namespace {

/// Describes a network with the settings that suit it, which apply where no others are given.
std::string arch_text(const Arch& arch) {
  return fmt::format("\n  {}: {}\n    {} px, {}, {} epochs, batch {}, {}, lr {}, weight decay {}",
                     arch.name, arch.summary, arch.image_size, name_of(arch.augment), arch.epochs,
                     arch.batch_size, name_of(arch.optimizer), arch.lr, arch.weight_decay);
}

std::string archs_text() {
  std::string text =
      "Network, with its settings (fit: resnet18, measure: smallnet; to detect: yolox-s):";
  for (const Arch* arch : all_archs()) text += arch_text(*arch);
  return text + arch_text(script_arch());
}

constexpr std::array<std::string_view, 4> kNetwork = {"task", "arch", "image_size", "channels"};
constexpr std::array<std::string_view, 7> kStep = {"batch_size", "augment", "min_scale",    "seed",
                                                   "order",      "amp",     "channels_last"};

}  // namespace

CLI::Option* RecipeArguments::declare(CLI::App& app, const RecipeOption& row) {
  CLI::Option* option =
      table_.add(row, program::declare_option(app, row, row.text_in(Recipe{}), {}));
  if (row.name == "arch") {
    option->description(archs_text());
    option->check(program::known_to(
        [](const std::string& name) { static_cast<void>(find_arch(name)); }, "NAME"));
  }
  return option;
}

std::vector<CLI::Option*> RecipeArguments::add_network_options(CLI::App& app) {
  std::vector<CLI::Option*> options;
  for (const std::string_view name : kNetwork)
    options.push_back(declare(app, find_row(recipe_options(), name)));
  return options;
}

void RecipeArguments::add_model_options(CLI::App& app) {
  add_network_options(app);
  for (const std::string_view name : kStep) declare(app, find_row(recipe_options(), name));
}

void RecipeArguments::add_all_options(CLI::App& app) {
  add_model_options(app);
  for (const RecipeOption& row : recipe_options())
    if (!std::ranges::count(kNetwork, row.name) && !std::ranges::count(kStep, row.name))
      declare(app, row);
}

RecipeChoices RecipeArguments::choices() const {
  RecipeChoices choices;
  set_given(choices, recipe_options(), table_.given());
  return choices;
}

void add_weight_pixels(CLI::App& app, CLI::Option* weights, PixelKind& pixels) {
  app.add_flag_callback(
         "--bgr-weights", [&pixels] { pixels = PixelKind::kBgr255; },
         "With " + weights->get_name() +
             ": they take pixels as BGR from 0 to 255, as those that YOLOX's authors publish")
      ->needs(weights);
}

CLI::Option* ModelOptions::add_options(CLI::App& app) {
  auto* model = app.add_option_group("model", "One of these");
  model->add_option("--checkpoint", file_.checkpoint, "A last.pt or best.pt written by fit");
  auto* weights = model->add_option("--weights", file_.weights,
                                    "Weights of --arch alone, without a checkpoint: a "
                                    ".safetensors file, or a .pth file of torch.save()");
  model->require_option(1);
  for (CLI::Option* option : recipe_.add_network_options(app)) option->needs(weights);
  add_weight_pixels(app, weights, file_.pixels);
  const auto add_numbers = [&](const char* name, std::vector<double>& numbers, const char* what) {
    app.add_option(name, numbers,
                   fmt::format("With --channels: the {} of each band, as fit printed them", what))
        ->delimiter(',')
        ->needs("--channels");
  };
  add_numbers("--mean", file_.bands.mean, "mean");
  add_numbers("--std", file_.bands.stddev, "standard deviation");
  return weights;
}

ModelFile ModelOptions::file() const {
  ModelFile file = file_;
  file.recipe = recipe_.choices();
  return file;
}

void RunOptions::add_device(CLI::App& app) {
  app.add_option("--device", device, "auto: a GPU if there is one")
      ->check(program::one_of({"auto", "cpu", "cuda"}))
      ->capture_default_str();
}

Device RunOptions::pick(int local_rank) const { return pick_device(device, local_rank); }

void share_cpus(const Processes& processes) {
  std::string place;  // the kernel's name: containers of one machine have host names of their own
  std::ifstream("/proc/sys/kernel/random/boot_id") >> place;
  place += fmt::format(" {}", fmt::join(allowed_cpus(), ","));
  const std::span bytes = as_bytes(place);
  const std::vector<std::byte> mine(bytes.begin(), bytes.end());
  const auto sharing = static_cast<int>(std::ranges::count(processes.gather(mine), mine));
  set_compute_threads(std::max(1, available_cpus() / sharing));
}

}  // namespace packhorse::trainer
