#include "models/archs.h"
#include "models/layers.h"
#include "packhorse/base/error.h"
#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {

std::shared_ptr<Model> make_model(std::string_view arch, std::int64_t classes, int image_size,
                                  int channels) {
  const Arch& found = find_arch(arch);
  if (classes < 1) throw Error(ErrorKind::kUsage, "a model needs at least one class");
  return found.make({.classes = classes,
                     .image_size = image_size > 0 ? image_size : found.image_size,
                     .channels = channels,
                     .file = script_file(arch)});
}

std::string Model::head() const {
  const auto names = named_parameters().keys();
  return names.empty() ? "" : names.back().substr(0, names.back().rfind('.') + 1);
}

std::int64_t count_parameters(const Model& model) {
  std::int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

void sync_batch_norms(Model& model, const Processes& processes) {
  for (const auto& module : model.modules(/*include_self=*/false)) {
    if (auto* norm = module->as<BatchNorm2d>()) norm->set_processes(&processes);
  }
}

void make_channels_last(Model& model) {
  for (auto& parameter : model.parameters()) {
    if (parameter.dim() == 4) {
      parameter.set_data(parameter.data().contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
}

}  // namespace packhorse::trainer
