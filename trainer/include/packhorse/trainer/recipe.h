#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "packhorse/reader/augment.h"
#include "packhorse/reader/order.h"

/// Everything that shapes a training run's result, apart from the data.
namespace packhorse::trainer {

/// What happens to a training picture. Evaluation uses the matching picture without chance in it.
enum class AugmentKind {
  kRandomResizedCrop,  ///< "rrc": torchvision's, with flip; evaluation: resize to 8/7 and centre
                       ///< crop
  kPadCrop,  ///< "pad-crop": resize, pad by size / 8, random window, flip; evaluation: resize
  kFlip,     ///< "flip": resize and flip; evaluation: resize
  kNone,     ///< "none": resize
};

enum class Amp {
  kOff,
  kBf16,  ///< forward and loss under autocast to bfloat16; parameters stay float32
};

std::string_view name_of(AugmentKind kind);
std::string_view name_of(Amp amp);
std::string_view name_of(reader::OrderKind order);
/// Names for --augment, --amp and --order, in the order of the enums.
std::span<const std::string_view> augment_names();
std::span<const std::string_view> amp_names();
std::span<const std::string_view> order_names();
/// Throw Error(kUsage) with the names there are.
AugmentKind parse_augment(std::string_view name);
Amp parse_amp(std::string_view name);
reader::OrderKind parse_order(std::string_view name);

struct Recipe {
  std::string arch = "resnet18";
  int image_size = 224;  ///< pixels, both sides
  AugmentKind augment = AugmentKind::kRandomResizedCrop;
  double min_scale = 0.08;  ///< of the picture's area, for rrc
  int epochs = 90;
  std::int64_t batch_size = 256;
  double lr = 0.1;  ///< highest learning rate, reached after the warm-up
  double momentum = 0.9;
  bool nesterov = true;
  double weight_decay = 1e-4;  ///< of weights; biases and norms have none
  double label_smoothing = 0;
  double warmup_epochs = 5;
  std::uint64_t seed = 0;
  reader::OrderKind order = reader::OrderKind::kGlobal;
  Amp amp = Amp::kOff;
  bool channels_last = true;

  /// Throws Error(kUsage).
  void validate() const;
  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// What somebody asked for; the rest comes from the arch's defaults or from the checkpoint resumed.
struct RecipeChoices {
  std::optional<std::string> arch;
  std::optional<int> image_size;
  std::optional<AugmentKind> augment;
  std::optional<double> min_scale;
  std::optional<int> epochs;
  std::optional<std::int64_t> batch_size;
  std::optional<double> lr;
  std::optional<double> momentum;
  std::optional<bool> nesterov;
  std::optional<double> weight_decay;
  std::optional<double> label_smoothing;
  std::optional<double> warmup_epochs;
  std::optional<std::uint64_t> seed;
  std::optional<reader::OrderKind> order;
  std::optional<Amp> amp;
  std::optional<bool> channels_last;
};

/// `base` with the choices put in. A changed number of epochs takes the warm-up along in
/// proportion, unless that is chosen too. Throws Error(kUsage).
Recipe resolve(const RecipeChoices& choices, const Recipe& base);

reader::Augment train_augment(const Recipe& recipe);
reader::Augment eval_augment(const Recipe& recipe);

void to_json(nlohmann::json& json, const Recipe& recipe);
/// Throws Error(kUsage) for a name that is none, nlohmann::json::exception for a missing field.
void from_json(const nlohmann::json& json, Recipe& recipe);

}  // namespace packhorse::trainer
