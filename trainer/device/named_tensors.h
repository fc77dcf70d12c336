#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace packhorse::trainer {

/// Parameters, buffers or tensors that belong to them, each under its name in the model.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

}  // namespace packhorse::trainer
