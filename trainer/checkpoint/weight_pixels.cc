#include "checkpoint/weight_pixels.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include "packhorse/base/error.h"
#include "packhorse/trainer/input/normalize.h"

namespace packhorse::trainer {

namespace {

/// [3]: what becomes of the numbers of R, G and B, from 0 to 255 again.
at::Tensor of_bytes(const std::vector<double>& numbers) {
  return at::tensor(at::ArrayRef<double>(numbers), at::kDouble) * 255;
}

}  // namespace

void take_normalized_pixels(std::map<std::string, at::Tensor>& weights, const std::string& stem,
                            const std::filesystem::path& path) {
  const auto conv = weights.find(stem + ".conv.weight");
  const auto mean = weights.find(stem + ".bn.running_mean");
  const bool found = !stem.empty() && conv != weights.end() && mean != weights.end();
  if (!found || conv->second.dim() != 4 || conv->second.size(1) % 3 != 0 ||
      mean->second.sizes() != conv->second.sizes().slice(0, 1))
    throw Error(ErrorKind::kUsage, "no weights of this network take BGR from 0 to 255", path,
                "leave out --bgr-weights");
  const Normalization normalization;
  const at::IntArrayRef shape = conv->second.sizes();
  // [C, places, BGR, rows x columns]: a network may take several places at once.
  const at::Tensor given =
      conv->second.to(at::kDouble).reshape({shape[0], shape[1] / 3, 3, shape[2] * shape[3]});
  const at::Tensor rgb = given.flip({2});
  const auto by_channel = [&](const std::vector<double>& numbers) {
    return rgb * of_bytes(numbers).view({1, 1, 3, 1});
  };
  const at::Tensor shift = by_channel(normalization.mean).sum(at::IntArrayRef{1, 2, 3});
  const at::Tensor scaled = by_channel(normalization.stddev).reshape(shape);
  conv->second = scaled;
  mean->second = mean->second.to(at::kDouble) - shift;
}

}  // namespace packhorse::trainer
