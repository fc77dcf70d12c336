#include "checkpoint/state_dict.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/stack.h>

#include <limits>

#include "packhorse/base/error.h"

namespace packhorse::trainer {

NamedTensors named_parameters(const Model& model) {
  NamedTensors all;
  for (const auto& item : model.named_parameters()) all.emplace_back(item.key(), item.value());
  return all;
}

NamedTensors named_buffers(const Model& model) {
  NamedTensors all;
  for (const auto& item : model.named_buffers()) all.emplace_back(item.key(), item.value());
  return all;
}

NamedTensors named_state(const Model& model) {
  NamedTensors all = named_parameters(model);
  for (auto& buffer : named_buffers(model)) all.push_back(std::move(buffer));
  return all;
}

NamedTensors copied_to_cpu(const NamedTensors& tensors) {
  NamedTensors all;
  for (const auto& [name, tensor] : tensors) {
    all.emplace_back(name, tensor.detach().to(at::kCPU, /*non_blocking=*/false, /*copy=*/true));
  }
  return all;
}

bool all_finite(const NamedTensors& tensors) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> numbers;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.is_floating_point() && tensor.numel() > 0) numbers.push_back(tensor.detach());
  }
  if (numbers.empty()) return true;
  // Takes the largest number of each tensor: a sum could overflow although every number is finite.
  auto largest = at::_foreach_norm(numbers, std::numeric_limits<double>::infinity());
  for (auto& number : largest) number = number.to(at::kFloat);
  return at::stack(largest).isfinite().all().item<bool>();
}

void copy_into(const NamedTensors& to, const NamedTensors& from,
               const std::filesystem::path& path) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::kCorrupt, "the checkpoint does not match the model: " + why, path);
  };
  if (to.size() != from.size()) fail("it has a different number of tensors");
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto& [name, tensor] = to[i];
    if (name != from[i].first) fail("'" + from[i].first + "' is not '" + name + "'");
    if (tensor.sizes() != from[i].second.sizes()) fail("'" + name + "' has a different shape");
    tensor.detach().copy_(from[i].second);
  }
}

void load_normalization(const Checkpoint& checkpoint, const std::filesystem::path& path,
                        Normalization& normalization) try {
  const std::size_t channels = normalization.mean.size();
  checkpoint.meta.at("mean").get_to(normalization.mean);
  checkpoint.meta.at("std").get_to(normalization.stddev);
  if (normalization.mean.size() != channels || normalization.stddev.size() != channels)
    throw Error(ErrorKind::kCorrupt, "the checkpoint's means are not as many as its channels",
                path);
} catch (const nlohmann::json::exception&) {
  throw Error(ErrorKind::kCorrupt,
              "the checkpoint lacks the mean and standard deviation of its pixels", path);
}

}  // namespace packhorse::trainer
