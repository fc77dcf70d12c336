#include "recipe/recipe_table.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/option_values.h"
#include "loader/loader_table.h"
#include "packhorse/trainer/recipe/recipe.h"

namespace packhorse::trainer {

namespace {

namespace values = option_values;

constexpr NumberRange kShare{.least = 0, .most = 1};
constexpr NumberRange kShareAbove0{.least = 0, .most = 1, .above = true};
constexpr NumberRange kFrom0{.least = 0}, kAbove0{.least = 0, .above = true};
constexpr NumberRange kBelow1{.least = 0, .most = 1, .below = true}, kTo09{.least = 0, .most = 0.9};

/// What few settings have.
struct Besides {
  std::string_view key = {};  ///< empty: the option's name
  bool fixed = false, later = false, shown = false;
  std::int64_t least = 0;
  std::uint64_t most = ~std::uint64_t{0};
  NumberRange range = {};
};

/// What the type of a setting says of its option.
template <class T>
Option option_of() {
  using enum Option::Kind;
  Option option;
  option.kind = std::is_same_v<T, bool>       ? kSwitch
                : std::is_enum_v<T>           ? kChoice
                : std::is_floating_point_v<T> ? kNumber
                : std::is_integral_v<T>       ? kInteger
                                              : kText;
  if constexpr (std::is_enum_v<T>) option.choices = values::words_of<names_of<T>>;
  return option;
}

template <class T, class Member>
constexpr OptionOf<RecipeChoices>::Value value_of(Member member) {
  if constexpr (std::is_enum_v<T>)
    return values::named<RecipeChoices, names_of<T>>(member);
  else
    return values::plain<RecipeChoices>(member);
}

template <auto kMember, auto kChoice>
RecipeOption setting(std::string_view name, std::string_view help, const Besides& besides = {}) {
  using T = std::decay_t<decltype(std::declval<Recipe>().*kMember)>;
  Option option = option_of<T>();
  option.name = name;
  option.help = help;
  option.least = besides.least;
  option.most = besides.most;
  option.range = besides.range;
  option.shows_default = besides.shown;
  return {{option, value_of<T>([](auto& choices) -> auto& { return choices.*kChoice; })},
          besides.key.empty() ? name : besides.key,
          besides.fixed,
          besides.later,
          [](const RecipeChoices& choices, Recipe& recipe) {
            if (choices.*kChoice) recipe.*kMember = *(choices.*kChoice);
          },
          [](const Recipe& recipe, RecipeChoices& choices) { choices.*kChoice = recipe.*kMember; },
          [](const Recipe& recipe, nlohmann::json& value) {
            if constexpr (std::is_enum_v<T>)
              value = name_of(recipe.*kMember);
            else
              value = recipe.*kMember;
          },
          [](const nlohmann::json& value, Recipe& recipe) {
            if constexpr (std::is_enum_v<T>)
              recipe.*kMember = parse_name<T>("value", value.get<std::string>());
            else
              value.get_to(recipe.*kMember);
          }};
}

}  // namespace

std::string RecipeOption::text_in(const Recipe& recipe) const {
  RecipeChoices of;
  take(recipe, of);
  return text(of);
}

std::span<const RecipeOption> recipe_options() {
  using R = Recipe;
  using C = RecipeChoices;
  static const std::vector<RecipeOption> kTable = {
      setting<&R::task, &C::task>("task",
                                  "classify: one class an image; multilabel: any number of them; "
                                  "detect: boxes around objects (default: the network's)",
                                  {.fixed = true, .later = true}),
      setting<&R::arch, &C::arch>("arch",
                                  "Network (fit: resnet18, measure: smallnet; to detect: yolox-s)",
                                  {.fixed = true}),
      setting<&R::image_size, &C::image_size>(
          "image_size", "Side of the network's input, in pixels (default: the network's)",
          {.fixed = true, .least = 8, .most = 4096}),
      setting<&R::channels, &C::channels>(
          "channels",
          "The network takes so many bands of each pixel as they are stored, of 8 or 16 bits or "
          "floats; 0: colours of 8 bits",
          {.fixed = true, .later = true, .shown = true, .most = 255}),
      setting<&R::batch_size, &C::batch_size>(
          "batch_size", "Images per step, over all processes (default: the network's)",
          {.fixed = true, .least = 1}),
      setting<&R::augment, &C::augment>(
          "augment",
          "rrc: random resized crop and flip; pad-crop: resize, shift by up to an eighth, flip; "
          "flip: resize and flip; none: resize; affine, for objects: turn, scale, move, shear, "
          "flip (default: the network's)"),
      setting<&R::min_scale, &C::min_scale>(
          "min_scale", "Smallest part of an image that rrc crops, as a share of its area",
          {.shown = true, .range = kShareAbove0}),
      setting<&R::seed, &C::seed>(
          "seed", "Seed of the order, the crops and the initial parameters",
          {.fixed = true, .shown = true, .most = std::numeric_limits<std::int64_t>::max()}),
      setting<&R::order, &C::order>("order", find_row(reader::loader_options(), "order").help,
                                    {.fixed = true}),
      setting<&R::weights, &C::weights>("sample_weights",
                                        find_row(reader::loader_options(), "weights").help,
                                        {.fixed = true, .later = true}),
      setting<&R::repeats, &C::repeats>(
          "repeats", find_row(reader::loader_options(), "repeats").help,
          {.fixed = true, .later = true, .shown = true, .least = 1, .most = 1024}),
      setting<&R::amp, &C::amp>("amp",
                                "bf16: compute in bfloat16 where that is safe; fp16: in float16, "
                                "with loss scaling; faster on GPUs, much slower on some CPUs",
                                {.shown = true}),
      setting<&R::channels_last, &C::channels_last>(
          "channels_last", "Use the channels-last memory format for convolutions", {.shown = true}),
      setting<&R::pixel_steps, &C::pixel_steps>(
          "pixel_steps",
          "Changes to the pixels of each crop, one after the other, e.g. 'ColorJitter(0.4, 0.4, "
          "0.4, 0.1), RandomErasing(0.25)'; docs/augment.md has them all (none)",
          {.later = true}),
      setting<&R::mixup_alpha, &C::mixup_alpha>(
          "mixup", "Mixup: alpha of its Beta distribution; 0: off",
          {.key = "mixup_alpha", .shown = true, .range = kFrom0}),
      setting<&R::mosaic, &C::mosaic>(
          "mosaic",
          "For objects: probability that a sample is four images (default: the network's)",
          {.later = true, .range = kShare}),
      setting<&R::copy_paste, &C::copy_paste>(
          "copy_paste",
          "For objects: probability that those of another sample are pasted in; needs masks",
          {.later = true, .shown = true, .range = kShare}),
      setting<&R::close_mosaic, &C::close_mosaic>("close_mosaic",
                                                  "For objects: last epochs without mosaic, copied "
                                                  "objects and mixup (a share of the epochs)",
                                                  {.later = true, .range = kFrom0}),
      setting<&R::multi_scale, &C::multi_scale>(
          "multi_scale",
          "For objects: resize batches randomly by up to this share (default: the network's)",
          {.later = true, .range = kTo09}),
      setting<&R::cutmix_alpha, &C::cutmix_alpha>(
          "cutmix",
          "CutMix: alpha of its Beta distribution; with both, each batch draws one of them; 0: off",
          {.key = "cutmix_alpha", .shown = true, .range = kFrom0}),
      setting<&R::epochs, &C::epochs>("epochs", "Passes over the data (default: the network's)",
                                      {.least = 1}),
      setting<&R::accumulate, &C::accumulate>(
          "accumulate",
          "Split each process's share of a batch into this many parts, to save memory",
          {.shown = true, .least = 1}),
      setting<&R::optimizer, &C::optimizer>(
          "optimizer", "sgd, adamw, or, for batches of thousands, lars (default: the network's)",
          {.fixed = true}),
      setting<&R::lr, &C::lr>("lr",
                              "Peak learning rate, at the end of the warm-up (default: the "
                              "network's, scaled by the batch size over its usual one)",
                              {.range = kAbove0}),
      setting<&R::momentum, &C::momentum>("momentum", "Momentum of sgd and lars",
                                          {.shown = true, .range = kBelow1}),
      setting<&R::nesterov, &C::nesterov>("nesterov", "Use Nesterov momentum", {.shown = true}),
      setting<&R::beta1, &C::beta1>("beta1", "First beta of adamw",
                                    {.shown = true, .range = kBelow1}),
      setting<&R::beta2, &C::beta2>("beta2", "Second beta of adamw",
                                    {.shown = true, .range = kBelow1}),
      setting<&R::weight_decay, &C::weight_decay>(
          "weight_decay",
          "Weight decay, not applied to biases, norms, tokens and positions (default: the "
          "network's; another optimizer has its own default)",
          {.range = kFrom0}),
      setting<&R::clip_norm, &C::clip_norm>(
          "clip_norm", "Largest norm of the gradients, which are scaled down to it; 0: no limit",
          {.shown = true, .range = kFrom0}),
      setting<&R::label_smoothing, &C::label_smoothing>(
          "label_smoothing", "Share of the target that is spread over all classes",
          {.shown = true, .range = kBelow1}),
      setting<&R::warmup_epochs, &C::warmup_epochs>(
          "warmup_epochs",
          "Epochs of linear warm-up of the learning rate, before the cosine (a share of the epochs "
          "that suits the network)",
          {.range = kFrom0}),
      setting<&R::ema_decay, &C::ema_decay>("ema_decay",
                                            "Decay of a moving average of the parameters, which is "
                                            "scored instead, e.g. 0.9999; 0: none",
                                            {.shown = true, .range = kBelow1}),
      setting<&R::non_finite, &C::non_finite>(
          "non_finite", "What to do when gradients are not finite: stop, or skip the step",
          {.shown = true}),
      setting<&R::sync_bn, &C::sync_bn>(
          "sync_bn", "Compute batch norms over the batches of all processes", {.shown = true}),
  };
  return kTable;
}

}  // namespace packhorse::trainer
