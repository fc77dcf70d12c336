#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {

/// The bytes of a TorchScript module that computes what `model` does in evaluation, for any number
/// of pictures of the example's size, float [B, 3, H, W], on its device. Parameters and buffers
/// have their names. `text` lies in it as the extra file "packhorse.json". Throws
/// Error(kUnsupported) for a model that is such a module already.
std::string traced(Model& model, const at::Tensor& example, const std::string& text);

}  // namespace packhorse::trainer
