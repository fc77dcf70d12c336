#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "packhorse/reader/augment.h"
#include "packhorse/reader/loader.h"
#include "packhorse/reader/mix.h"
#include "packhorse/reader/order_kind.h"
#include "packhorse/reader/pixel_steps.h"

/// Everything that shapes a training run's result, apart from the data.
namespace packhorse::trainer {

/// What a network is trained for.
enum class TaskKind {
  kClassify,    ///< one class a picture
  kDetect,      ///< boxes around objects of classes
  kMultiLabel,  ///< "multilabel": any number of classes a picture
};

/// How a training picture is augmented. Evaluation uses the matching picture without randomness.
enum class AugmentKind {
  kRandomResizedCrop,  ///< "rrc": torchvision's, with flip; evaluation: resize to 8/7 and centre
                       ///< crop
  kPadCrop,  ///< "pad-crop": resize, pad by size / 8, random window, flip; evaluation: resize
  kFlip,     ///< "flip": resize and flip; evaluation: resize
  kNone,     ///< "none": resize
             ///< To find objects, "flip" and "none" fit the whole picture in, as evaluation does.
  kAffine,   ///< "affine", to find objects: fit in, turn by up to 10 degrees, scale by 0.5 to 1.5,
             ///< move by up to a tenth, shear by up to 2 degrees, flip
};

enum class Amp {
  kOff,
  kBf16,  ///< forward and loss under autocast to bfloat16; parameters stay float32
  kFp16,  ///< float16, with a GradScaler
};

/// How to treat a step with non-finite gradients, other than overflows of float16.
enum class NonFinite {
  kStop,  ///< the run ends; the last checkpoint is from before
  kSkip,  ///< the step is left out and counted
};

enum class OptimizerKind {
  kSgd,    ///< torch.optim.SGD
  kAdamW,  ///< torch.optim.AdamW
  kLars,   ///< SGD with a learning rate for each layer (You et al. 2017): for large batches
};

/// The names of an enumeration's values, in their order, as options and files spell them. Defined
/// for those below.
template <class Enum>
std::span<const std::string_view> names_of();

template <class Enum>
std::string_view name_of(Enum value) {
  return names_of<Enum>()[static_cast<std::size_t>(value)];
}

/// The index of `name` in `names`. Throws Error(kUsage) listing them; `what` says what they name.
std::size_t find_name(std::string_view what, std::string_view name,
                      std::span<const std::string_view> names);

/// Throws Error(kUsage) listing the names.
template <class Enum>
Enum parse_name(std::string_view what, std::string_view name) {
  return static_cast<Enum>(find_name(what, name, names_of<Enum>()));
}

// names_of(): "classify" ..., "rrc" ..., "off" ..., "stop" ..., "sgd" ..., "global" ...
template <>
std::span<const std::string_view> names_of<TaskKind>();
template <>
std::span<const std::string_view> names_of<AugmentKind>();
template <>
std::span<const std::string_view> names_of<Amp>();
template <>
std::span<const std::string_view> names_of<NonFinite>();
template <>
std::span<const std::string_view> names_of<OptimizerKind>();
template <>
std::span<const std::string_view> names_of<reader::OrderKind>();

struct Recipe {
  TaskKind task = TaskKind::kClassify;
  std::string arch = "resnet18";
  int image_size = 224;  ///< pixels, both sides
  int channels = 0;      ///< bands of each pixel, as they are stored; 0: colours of 8 bits
  AugmentKind augment = AugmentKind::kRandomResizedCrop;
  double min_scale = 0.08;  ///< of the picture's area, for rrc
  std::string pixel_steps;  ///< text of reader::PixelSteps, for training; empty: none
  double mixup_alpha = 0;   ///< of Beta(alpha, alpha); 0: off; with objects: of each sample
  double cutmix_alpha = 0;  ///< the same for CutMix; with both, each batch draws one of them
  double mosaic = 0;        ///< probability that a sample is four pictures; of objects, as below
  double copy_paste = 0;    ///< probability that objects of another sample are pasted into it
  double close_mosaic = 0;  ///< last epochs, in which a sample is one image
  double multi_scale = 0;   ///< batches are resized by up to this share, either way
  int epochs = 90;
  std::int64_t batch_size = 256;  ///< of one step: over all processes and accumulated parts
  std::int64_t accumulate = 1;    ///< parts that a process takes its share of a batch in
  OptimizerKind optimizer = OptimizerKind::kSgd;
  double lr = 0.1;  ///< highest learning rate, reached after the warm-up
  double momentum = 0.9;
  bool nesterov = true;
  double beta1 = 0.9, beta2 = 0.999;  ///< of AdamW
  double weight_decay = 1e-4;         ///< of weights; biases and norms have none
  double clip_norm = 0;               ///< longest gradient, 0: any
  double label_smoothing = 0;
  double warmup_epochs = 5;
  double ema_decay = 0;  ///< for the averaged parameters, which are then scored; 0: none
  std::uint64_t seed = 0;
  reader::OrderKind order = reader::OrderKind::kGlobal;
  std::string weights;        ///< "balanced", "sqrt" or a field, as of the Loader; empty: none
  std::uint64_t repeats = 1;  ///< of each sample in an epoch
  Amp amp = Amp::kOff;
  NonFinite non_finite = NonFinite::kStop;
  bool channels_last = true;
  bool sync_bn = false;  ///< batch norms see the batch of all processes

  /// Throws Error(kUsage).
  void validate() const;
  /// Of the pictures that the network sees.
  int input_channels() const { return channels > 0 ? channels : 3; }
  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// The settings somebody asked for; the rest comes from the arch's defaults or from the checkpoint
/// resumed.
struct RecipeChoices {
  std::optional<TaskKind> task;
  std::optional<std::string> arch;
  std::optional<int> image_size, channels;
  std::optional<AugmentKind> augment;
  std::optional<std::string> pixel_steps;
  std::optional<double> min_scale, mixup_alpha, cutmix_alpha;
  std::optional<double> mosaic, copy_paste, close_mosaic, multi_scale;
  std::optional<int> epochs;
  std::optional<std::int64_t> batch_size, accumulate;
  std::optional<OptimizerKind> optimizer;
  std::optional<double> lr, momentum;
  std::optional<bool> nesterov;
  std::optional<double> beta1, beta2, weight_decay, clip_norm, label_smoothing, warmup_epochs;
  std::optional<double> ema_decay;
  std::optional<std::uint64_t> seed, repeats;
  std::optional<std::string> weights;
  std::optional<reader::OrderKind> order;
  std::optional<Amp> amp;
  std::optional<NonFinite> non_finite;
  std::optional<bool> channels_last, sync_bn;
};

/// Returns `base` with the choices put in. Settings that depend on a choice change with it unless
/// they are chosen too: another number of epochs scales the warm-up and the epochs without a mosaic
/// in proportion, another optimiser brings its own learning rate (for a batch of 256) and weight
/// decay, and another batch scales the learning rate linearly (Goyal et al. 2017). Throws
/// Error(kUsage).
Recipe resolve(const RecipeChoices& choices, const Recipe& base);

/// Asks for the recipe's weights and repeats.
void choose_samples(const Recipe& recipe, reader::LoaderOptions& options);
/// Asks for the recipe's bands, as floats that are not normalised.
void choose_bands(const Recipe& recipe, reader::LoaderOptions& options);
reader::Augment train_augment(const Recipe& recipe);
reader::MixOptions mix_options(const Recipe& recipe);
reader::Augment eval_augment(const Recipe& recipe);
}  // namespace packhorse::trainer
