#include "tasks/detect/family.h"

#include "models/anchor_points.h"
#include "models/archs.h"
#include "tasks/detect/fcos_loss.h"
#include "tasks/detect/yolox_loss.h"

namespace packhorse::trainer {

namespace {

/// Ge et al. 2021.
constexpr DetectorFamily kYolox = {
    .loss =
        [](const at::Tensor& predictions, const TrueBoxes& truth, std::int64_t side,
           bool last_epochs) {
          const AnchorPoints points = anchor_points(side, side, predictions.device());
          return yolox_loss(predictions, truth, points, last_epochs).total;
        },
    .last_epochs_differ = true,
    .rules = [](std::int64_t, std::int64_t) { return DetectionRules{}; }};

/// Tian et al. 2019, with torchvision's thresholds.
constexpr DetectorFamily kFcos = {
    .loss =
        [](const at::Tensor& predictions, const TrueBoxes& truth, std::int64_t side, bool) {
          return fcos_loss(predictions, truth, fcos_points(side, side, predictions.device())).total;
        },
    .last_epochs_differ = false,
    .rules =
        [](std::int64_t height, std::int64_t width) {
          return DetectionRules{.min_score = 0.2,
                                .overlap = 0.6,
                                .candidates = 1000,
                                .most = 100,
                                .every_class = true,
                                .root = true,
                                .levels = fcos_level_sizes(height, width),
                                .frame = {static_cast<int>(height), static_cast<int>(width)}};
        }};

}  // namespace

const DetectorFamily& family_of(const Recipe& recipe) {
  return find_arch(recipe.arch).detector == DetectorKind::kFcos ? kFcos : kYolox;
}

}  // namespace packhorse::trainer
