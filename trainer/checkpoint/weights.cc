#include "packhorse/trainer/checkpoint/weights.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Dict.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weight_files.h"
#include "input/normalize.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

/// [3]: what becomes of the numbers of R, G and B, from 0 to 255 again.
at::Tensor of_bytes(const std::vector<double>& numbers) {
  return at::tensor(at::ArrayRef<double>(numbers), at::kDouble) * 255;
}

/// Converts weights that take BGR from 0 to 255 so that normalised RGB gives the same: the
/// convolution `stem`.conv takes in the order and the scale of its channels, the norm `stem`.bn the
/// mean. What lies around a picture counts as the mean then, no longer as black, so outputs at its
/// very border differ. Throws Error(kUsage) naming `path` where `stem` is empty, or is not among
/// the weights as such a layer.
void take_normalized_pixels(std::map<std::string, at::Tensor>& weights, const std::string& stem,
                            const std::filesystem::path& path) {
  const auto conv = weights.find(stem + ".conv.weight");
  const auto mean = weights.find(stem + ".bn.running_mean");
  const bool found = !stem.empty() && conv != weights.end() && mean != weights.end();
  if (!found || conv->second.dim() != 4 || conv->second.size(1) % 3 != 0 ||
      mean->second.sizes() != conv->second.sizes().slice(0, 1))
    throw Error(ErrorKind::kUsage, "no weights of this network take BGR from 0 to 255", path,
                "leave out `bgr_weights=`");
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

constexpr const char* kSaveAdvice =
    "save the weights in Python with torch.save(model.state_dict(), FILE) of PyTorch 1.6 or "
    "later, or with safetensors.torch.save_file(model.state_dict(), FILE)";
constexpr const char* kNotTracked = "num_batches_tracked";

enum class Kind { kSafetensors, kTorchZip, kOther };

Kind kind_of(const std::filesystem::path& path) {
  const UniqueFd fd = open_for_reading(path);
  if (file_size(fd.get(), path) < 10) return Kind::kOther;
  std::array<std::byte, 10> begin;
  read_exactly(fd.get(), 0, begin, path);
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), begin.size());
  if (text.starts_with("PK")) return Kind::kTorchZip;
  // safetensors: a header of less than 16 MiB, and the brace it begins with.
  if (text.substr(3, 5) == std::string_view("\0\0\0\0\0", 5) && text[8] == '{') {
    return Kind::kSafetensors;
  }
  return Kind::kOther;
}

bool is_text(const c10::impl::GenericDict& dict, const char* key, std::string_view value) {
  const auto found = dict.find(key);
  return found != dict.end() && found->value().isString() && found->value().toStringRef() == value;
}

c10::impl::GenericDict state_dict_in(const c10::impl::GenericDict& top) {
  for (const char* key : {"model", "state_dict", "model_state_dict"}) {
    const auto found = top.find(key);
    if (found != top.end() && found->value().isGenericDict()) return found->value().toGenericDict();
  }
  return top;
}

/// What a file holds.
struct SavedWeights {
  NamedTensors tensors;
  std::vector<std::string> classes = {};  ///< as in LoadedWeights
};

SavedWeights read_own_checkpoint(const std::filesystem::path& path) {
  Checkpoint checkpoint = read_checkpoint(path);
  SavedWeights saved{std::move(checkpoint.model)};
  const auto classes = checkpoint.meta.find("classes");
  if (classes != checkpoint.meta.end()) classes->get_to(saved.classes);
  return saved;
}

SavedWeights read_torch_file(const std::filesystem::path& path) try {
  const c10::IValue value = read_torch_zip(path);
  if (!value.isGenericDict()) throw_bad_weights(path, "it does not hold named tensors");
  const auto top = value.toGenericDict();
  if (is_text(top, "format", "packhorse-train")) return read_own_checkpoint(path);
  NamedTensors tensors;
  for (const auto& item : state_dict_in(top)) {
    if (!item.key().isString()) throw_bad_weights(path, "a tensor in it has no name");
    const std::string& name = item.key().toStringRef();
    if (!item.value().isTensor()) throw_bad_weights(path, "'" + name + "' in it is not a tensor");
    tensors.emplace_back(name, item.value().toTensor());
  }
  return {std::move(tensors)};
} catch (const Error&) {
  throw;
} catch (const c10::Error& error) {
  const std::string what = error.what_without_backtrace();
  throw_bad_weights(path, what.substr(0, what.find('\n')));
} catch (const std::exception& error) {
  throw_bad_weights(path, error.what());
}

void take_off_prefix(NamedTensors& tensors, std::string_view prefix) {
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with(prefix)) return;
  }
  for (auto& [name, tensor] : tensors) name.erase(0, prefix.size());
}

std::string shape_text(const at::Tensor& tensor) {
  return tensor.dim() == 0 ? "one number" : fmt::format("{}", fmt::join(tensor.sizes(), "x"));
}

/// Collects the tensors that do not fit, by kind, and words the message about them.
class Misfits {
 public:
  void missing(const std::string& name) { missing_.push_back("'" + name + "'"); }
  void unexpected(const std::string& name) { unexpected_.push_back("'" + name + "'"); }
  void misshapen(const std::string& name, const at::Tensor& here, const at::Tensor& wanted) {
    misshapen_.push_back(
        fmt::format("'{}' ({}, not {})", name, shape_text(here), shape_text(wanted)));
  }
  void throw_if_any(const std::filesystem::path& path, bool only_head) const {
    if (missing_.empty() && unexpected_.empty() && misshapen_.empty()) return;
    throw Error(ErrorKind::kUsage,
                "the weights do not match the network" + text("missing", missing_) +
                    text("with another shape", misshapen_) +
                    text("not in the network", unexpected_),
                path,
                only_head ? "only the last layer differs: leave it out with `new_head=`"
                          : "choose the `arch=` and the `image_size=` they were trained with");
  }

 private:
  static std::string text(const char* what, const std::vector<std::string>& names) {
    constexpr std::size_t kMostNamed = 3;
    if (names.empty()) return "";
    const auto end =
        names.begin() + static_cast<std::ptrdiff_t>(std::min(kMostNamed, names.size()));
    return fmt::format(
        "; {}: {}{}", what, fmt::join(names.begin(), end, ", "),
        names.size() > kMostNamed ? fmt::format(" and {} more", names.size() - kMostNamed) : "");
  }
  std::vector<std::string> missing_, unexpected_, misshapen_;
};

SavedWeights read_saved(const std::filesystem::path& path) {
  SavedWeights saved;
  switch (kind_of(path)) {
    case Kind::kSafetensors:
      saved.tensors = read_safetensors(path);
      break;
    case Kind::kTorchZip:
      saved = read_torch_file(path);
      break;
    case Kind::kOther:
      throw Error(
          ErrorKind::kUnsupported,
          "this is neither a safetensors file nor one of torch.save() from PyTorch 1.6 or later",
          path, kSaveAdvice);
  }
  if (saved.tensors.empty()) throw_bad_weights(path, "it holds no tensors");
  take_off_prefix(saved.tensors, "module.");
  take_off_prefix(saved.tensors, "_orig_mod.");
  return saved;
}

}  // namespace

void throw_bad_weights(const std::filesystem::path& path, const std::string& why) {
  throw Error(ErrorKind::kCorrupt, "this is not a file of weights, or a damaged one: " + why, path,
              kSaveAdvice);
}

NamedTensors read_weights(const std::filesystem::path& path) { return read_saved(path).tensors; }

LoadedWeights load_weights(Model& model, const std::filesystem::path& path, const WeightsUse& use) {
  SavedWeights saved = read_saved(path);
  LoadedWeights loaded{.kept = {}, .classes = std::move(saved.classes)};
  std::map<std::string, at::Tensor> weights;
  for (auto& [name, tensor] : saved.tensors) weights.emplace(name, tensor);
  if (use.pixels == PixelKind::kBgr255) take_normalized_pixels(weights, model.stem(), path);
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;  // to, from
  Misfits misfits;
  bool only_head = true;
  const std::string last = model.head();
  const auto match = [&](const std::string& name, const at::Tensor& tensor) {
    const auto found = weights.find(name);
    const bool of_head = name.starts_with(last);
    if ((of_head && use.head == Head::kNew) ||
        (found == weights.end() && name.ends_with(kNotTracked))) {
      loaded.kept.push_back(name);
    } else if (found != weights.end() && found->second.sizes() == tensor.sizes()) {
      pairs.emplace_back(tensor.detach(), found->second);
    } else {
      if (found == weights.end()) misfits.missing(name);
      if (found != weights.end()) misfits.misshapen(name, found->second, tensor);
      only_head = only_head && of_head;
    }
    if (found != weights.end()) weights.erase(found);
  };
  for (const auto& item : model.named_parameters()) match(item.key(), item.value());
  for (const auto& item : model.named_buffers()) match(item.key(), item.value());
  for (const auto& [name, tensor] : weights) {
    if (use.head == Head::kNew && name.starts_with(last)) continue;
    misfits.unexpected(name);
    only_head = only_head && name.starts_with(last);
  }
  misfits.throw_if_any(path, only_head);
  const at::NoGradGuard no_grad;
  for (auto& [to, from] : pairs) to.copy_(from);
  return loaded;
}

}  // namespace packhorse::trainer
