#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "packhorse/trainer/device/named_tensors.h"
#include "packhorse/trainer/models/head.h"
#include "packhorse/trainer/models/models.h"

/// Weights that were saved elsewhere, by PyTorch, torchvision or timm.
///
///     auto model = make_model("resnet50", 10);
///     load_weights(*model, "resnet50.pth", Head::kMayDiffer);   // all but fc, which has 1000 rows
namespace packhorse::trainer {

/// The parameters and buffers in a file, on the CPU, as they were saved:
///
/// - *.safetensors
/// - what torch.save() wrote: a state dict, or a dictionary that has one as "model", "state_dict"
/// or
///   "model_state_dict". The pickle's code is not run: entries that are no plain data are left out.
/// - a checkpoint of packhorse-train
///
/// The kind is told by the file's bytes. "module." and "_orig_mod." before every name, which
/// DistributedDataParallel and torch.compile leave, are taken off. Throws Error(kNotFound), or
/// Error(kCorrupt | kUnsupported) naming the file.
NamedTensors read_weights(const std::filesystem::path& path);

/// Copies the tensors of `path` into the model's parameters and buffers of the same name, which may
/// have another type. Norms may lack num_batches_tracked, as they did in old files. Returns the
/// names that kept the values they had. Throws Error(kUsage) that names tensors which are missing,
/// unexpected or of another shape, and then changes nothing; and as read_weights() does.
std::vector<std::string> load_weights(Model& model, const std::filesystem::path& path,
                                      Head head = Head::kMustFit);

}  // namespace packhorse::trainer
