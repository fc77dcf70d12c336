#include "recipe_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <vector>

#include "base/file.h"
#include "base/resources.h"
#include "common/checks.h"
#include "models/archs.h"
#include "packhorse/base/error.h"
#include "packhorse/trainer/device/device.h"

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

/// Declares --name and --no-name. A plain optional<bool> flag would be set to false when neither is
/// given.
void add_switch(CLI::App& app, const std::string& name, std::optional<bool>& choice,
                const std::string& description) {
  app.add_flag_function(
      fmt::format("--{0},!--no-{0}", name), [&choice](std::int64_t count) { choice = count > 0; },
      description);
}

CLI::Validator member_of(std::span<const std::string_view> names) {
  return program::one_of({names.begin(), names.end()});
}

}  // namespace

std::vector<CLI::Option*> RecipeOptions::add_network_options(CLI::App& app) {
  return {app.add_option("--task", task_,
                         "classify: one class an image; multilabel: any number of them; detect: "
                         "boxes around objects (default: the network's)")
              ->check(member_of(names_of<TaskKind>())),
          app.add_option("--arch", choices_.arch, archs_text())
              ->check(program::known_to(
                  [](const std::string& name) { static_cast<void>(find_arch(name)); }, "NAME")),
          app.add_option("--image-size", choices_.image_size,
                         "Side of the network's input, in pixels (default: the network's)"),
          app.add_option("--channels", choices_.channels,
                         "The network takes so many bands of each pixel as they are stored, of 8 "
                         "or 16 bits or floats; 0: colours of 8 bits (0)")};
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

void RecipeOptions::add_model_options(CLI::App& app) {
  add_network_options(app);
  app.add_option("--batch-size", choices_.batch_size,
                 "Images per step, over all processes (default: the network's)");
  app.add_option(
         "--augment", augment_,
         "rrc: random resized crop and flip; pad-crop: resize, shift by up to an eighth, "
         "flip; flip: resize and flip; none: resize; affine, for objects: turn, scale, move, "
         "shear, flip (default: the network's)")
      ->check(member_of(names_of<AugmentKind>()));
  app.add_option("--min-scale", choices_.min_scale,
                 "Smallest part of an image that rrc crops, as a share of its area (0.08)");
  app.add_option("--seed", choices_.seed,
                 "Seed of the order, the crops and the initial parameters (0)");
  app.add_option(
         "--order", order_,
         "global: any sample may come next; window: large reads, mixed within 256 MiB, for "
         "disks and network storage; window-first: the first epoch by windows, the others "
         "global; sequential: as stored (default: global; for data at URLs window-first, or "
         "window where no cache holds it)")
      ->check(member_of(names_of<reader::OrderKind>()));
  app.add_option("--amp", amp_,
                 "bf16: compute in bfloat16 where that is safe; fp16: in float16, with loss "
                 "scaling; faster on GPUs, much slower on some CPUs (off)")
      ->check(member_of(names_of<Amp>()));
  add_switch(app, "channels-last", choices_.channels_last,
             "Use the channels-last memory format for convolutions (on)");
}

void RecipeOptions::add_schedule_options(CLI::App& app) {
  app.add_option("--pixel-steps", choices_.pixel_steps,
                 "Changes to the pixels of each crop, one after the other, e.g. "
                 "'ColorJitter(0.4, 0.4, 0.4, 0.1), RandomErasing(0.25)'; docs/augment.md has them "
                 "all (none)");
  app.add_option("--mixup", choices_.mixup_alpha,
                 "Mixup: alpha of its Beta distribution; 0: off (0)");
  app.add_option("--mosaic", choices_.mosaic,
                 "For objects: probability that a sample is four images (default: the network's)");
  app.add_option("--copy-paste", choices_.copy_paste,
                 "For objects: probability that those of another sample are pasted in; needs "
                 "masks (0)");
  app.add_option("--close-mosaic", choices_.close_mosaic,
                 "For objects: last epochs without mosaic, copied objects and mixup (a share of "
                 "the epochs)");
  app.add_option("--multi-scale", choices_.multi_scale,
                 "For objects: resize batches randomly by up to this share (default: the "
                 "network's)");
  app.add_option("--cutmix", choices_.cutmix_alpha,
                 "CutMix: alpha of its Beta distribution; with both, each batch draws one of them; "
                 "0: off (0)");
  app.add_option("--epochs", choices_.epochs, "Passes over the data (default: the network's)");
  app.add_option("--accumulate", choices_.accumulate,
                 "Split each process's share of a batch into this many parts, to save memory (1)");
  app.add_option("--optimizer", optimizer_,
                 "sgd, adamw, or, for batches of thousands, lars (default: the network's)")
      ->check(member_of(names_of<OptimizerKind>()));
  app.add_option(
      "--lr", choices_.lr,
      "Peak learning rate, at the end of the warm-up (default: the network's, scaled by the "
      "batch size over its usual one)");
  app.add_option("--momentum", choices_.momentum, "Momentum of sgd and lars (0.9)");
  add_switch(app, "nesterov", choices_.nesterov, "Use Nesterov momentum (on)");
  app.add_option("--beta1", choices_.beta1, "First beta of adamw (0.9)");
  app.add_option("--beta2", choices_.beta2, "Second beta of adamw (0.999)");
  app.add_option(
      "--weight-decay", choices_.weight_decay,
      "Weight decay, not applied to biases, norms, tokens and positions (default: the network's; "
      "another optimizer has its own default)");
  app.add_option("--clip-norm", choices_.clip_norm,
                 "Largest norm of the gradients, which are scaled down to it; 0: no limit (0)");
  app.add_option("--label-smoothing", choices_.label_smoothing,
                 "Share of the target that is spread over all classes (0)");
  app.add_option("--warmup-epochs", choices_.warmup_epochs,
                 "Epochs of linear warm-up of the learning rate, before the cosine (a share of the "
                 "epochs that suits the network)");
  app.add_option("--ema-decay", choices_.ema_decay,
                 "Decay of a moving average of the parameters, which is scored instead, e.g. "
                 "0.9999; 0: none (0)");
  app.add_option("--non-finite", non_finite_,
                 "What to do when gradients are not finite: stop, or skip the step (stop)")
      ->check(member_of(names_of<NonFinite>()));
  add_switch(app, "sync-bn", choices_.sync_bn,
             "Compute batch norms over the batches of all processes (off)");
}

RecipeChoices RecipeOptions::choices() const {
  RecipeChoices choices = choices_;
  const auto put = [](const char* what, const std::optional<std::string>& name, auto& choice) {
    using Enum = typename std::decay_t<decltype(choice)>::value_type;
    if (name) choice = parse_name<Enum>(what, *name);
  };
  put("task", task_, choices.task);
  put("augmentation", augment_, choices.augment);
  put("mixed precision", amp_, choices.amp);
  put("order", order_, choices.order);
  put("optimizer", optimizer_, choices.optimizer);
  put("rule", non_finite_, choices.non_finite);
  return choices;
}

void RunOptions::add_device(CLI::App& app) {
  app.add_option("--device", device, "auto: a GPU if there is one")
      ->check(program::one_of({"auto", "cpu", "cuda"}))
      ->capture_default_str();
}

void RunOptions::add_options(CLI::App& app) {
  add_device(app);
  app.add_option("--workers", workers,
                 "Reader threads; -1: one for each CPU this process may use, 0: none, the training "
                 "thread reads")
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
