#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "packhorse/trainer/models/models.h"

/// Loads weights that were saved elsewhere, by PyTorch, torchvision or timm:
///
/// - *.safetensors
/// - a file of torch.save(): a state dict, or a dictionary with one as "model", "state_dict" or
///   "model_state_dict". The pickle's code is not run: only plain data is read.
/// - a checkpoint of packhorse-train
///
/// The file's bytes tell its kind. The prefixes "module." and "_orig_mod." that
/// DistributedDataParallel and torch.compile put before every name are removed.
///
///     auto model = make_model("resnet50", 10);
///     load_weights(*model, "resnet50.pth", {Head::kNew});   // all but fc, with its 1000 rows
namespace packhorse::trainer {

/// Where the model's last layer, which gives the classes' scores, comes from: Model::head().
enum class Head : std::uint8_t {
  kFromFile,  ///< where it must be, and fit
  kNew,       ///< the model's stays, whatever the file has
};

/// What pixels weights were trained with.
enum class PixelKind : std::uint8_t {
  kNormalized,  ///< packhorse's and torchvision's: see Normalization
  kBgr255,      ///< BGR from 0 to 255: weights of YOLOX's authors
};

/// How weights become those of a model.
struct WeightsUse {
  Head head = Head::kFromFile;
  PixelKind pixels = PixelKind::kNormalized;  ///< others are converted, see docs/detection.md
};

/// The result.
struct LoadedWeights {
  std::vector<std::string> kept;  ///< tensors of the model that kept the values they had
  /// The classes that the file's last layer is for, by label, where it says so: a checkpoint of
  /// packhorse-train does.
  std::vector<std::string> classes;
};

/// Copies the tensors of `path` into the model's parameters and buffers of the same name,
/// converting their type. Norms may lack num_batches_tracked, as in old files. Throws Error(kUsage)
/// naming tensors that are missing, unexpected or of another shape, or for pixels that the model's
/// weights never take, and then changes nothing; Error(kNotFound), or Error(kCorrupt |
/// kUnsupported) naming the file.
LoadedWeights load_weights(Model& model, const std::filesystem::path& path,
                           const WeightsUse& use = {});

}  // namespace packhorse::trainer
