#include "packhorse/trainer/recipe/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "packhorse/base/error.h"

namespace packhorse::trainer {

namespace {

constexpr auto kOfClassify = std::to_array<ScoreName>({
    {"top1", "top-1", "Top-1 accuracy, per cent.", true},
    {"top5", "top-5", "Top-5 accuracy, per cent; with fewer than 5 classes, of all of them.", true},
    {"loss", "loss", "Mean cross entropy, without label smoothing."},
});

constexpr auto kOfDetect = std::to_array<ScoreName>({
    {"ap", "AP", "COCO's average precision: over classes and overlaps of 0.5 to 0.95, 0 to 1."},
    {"ap50", "AP50", "Average precision at an overlap of 0.5, 0 to 1."},
    {"ap75", "AP75", "Average precision at an overlap of 0.75, 0 to 1."},
    {"ap_small", "AP small", "Average precision of objects of up to 32 x 32 pixels, 0 to 1."},
    {"ap_medium", "AP medium", "Average precision of objects of up to 96 x 96 pixels, 0 to 1."},
    {"ap_large", "AP large", "Average precision of larger objects, 0 to 1."},
    {"recall1", "AR1", "Average recall with one detection an image and class, 0 to 1."},
    {"recall10", "AR10", "Average recall with ten detections an image and class, 0 to 1."},
    {"recall100", "AR100", "Average recall with a hundred detections an image and class, 0 to 1."},
});

constexpr auto kOfMultiLabel = std::to_array<ScoreName>({
    {"map", "mAP", "Mean over classes of the average precision (scikit-learn's), 0 to 1."},
    {"f1", "F1", "F1 of all classes together, of scores from 0.5, 0 to 1."},
    {"loss", "loss", "Mean binary cross entropy, without label smoothing."},
});

}  // namespace

std::span<const ScoreName> score_names(TaskKind task) {
  if (task == TaskKind::kDetect) return kOfDetect;
  if (task == TaskKind::kMultiLabel) return kOfMultiLabel;
  return kOfClassify;
}

std::string log_key(const ScoreName& name) {
  return name.key == "loss" ? "val_loss" : std::string(name.key);
}

double Scores::at(std::string_view key) const {
  const auto names = score_names(task);
  const auto found = std::ranges::find_if(names, [&](const auto& name) { return name.key == key; });
  if (found == names.end())
    throw Error(ErrorKind::kUsage, fmt::format("scores of {} have no '{}'", name_of(task), key));
  return values.at(static_cast<std::size_t>(found - names.begin()));
}

std::string to_text(const Scores& scores, std::size_t most) {
  const auto names = score_names(scores.task);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    const double value = scores.values.at(i);
    text += i > 0 ? ", " : "";
    if (std::isnan(value))
      text += fmt::format("{} not defined", names[i].title);
    else
      text += names[i].percent ? fmt::format("{} {:.2f} %", names[i].title, value)
                               : fmt::format("{} {:.4f}", names[i].title, value);
  }
  return text;
}

}  // namespace packhorse::trainer
