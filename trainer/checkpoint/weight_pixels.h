#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

namespace packhorse::trainer {

/// Converts weights that take BGR from 0 to 255 so that normalised RGB gives the same: the
/// convolution `stem`.conv takes in the order and the scale of its channels, the norm `stem`.bn the
/// mean. What lies around a picture counts as the mean then, no longer as black, so outputs at its
/// very border differ. Throws Error(kUsage) naming `path` where `stem` is empty, or is not among
/// the weights as such a layer.
void take_normalized_pixels(std::map<std::string, at::Tensor>& weights, const std::string& stem,
                            const std::filesystem::path& path);

}  // namespace packhorse::trainer
