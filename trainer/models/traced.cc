#include "models/traced.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <sstream>

#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

/// A TorchScript module with the tensors of another module, and those of its parts.
torch::jit::Module with_tensors_of(const torch::nn::Module& from, const std::string& type_name,
                                   const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  torch::jit::Module made(c10::QualifiedName(type_name), unit, /*shouldMangle=*/true);
  made.register_attribute("training", c10::BoolType::get(), false);
  for (const auto& item : from.named_parameters(/*recurse=*/false))
    made.register_parameter(item.key(), item.value(), /*is_buffer=*/false);
  for (const auto& item : from.named_buffers(/*recurse=*/false))
    made.register_buffer(item.key(), item.value());
  for (const auto& item : from.named_children())
    made.register_module(item.key(), with_tensors_of(*item.value(), type_name, unit));
  return made;
}

}  // namespace

std::string traced(Model& model, const at::Tensor& example, const std::string& text) {
  if (model.is_script())
    throw Error(ErrorKind::kUnsupported, "the network is a TorchScript module already", {},
                "load the checkpoint's weights into the module it came from");
  const at::NoGradGuard no_grad;
  model.eval();
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module module = with_tensors_of(model, "__torch__.packhorse.Network", unit);
  const auto [state, outputs] = torch::jit::tracer::trace(
      {example},
      [&](torch::jit::Stack inputs) -> torch::jit::Stack {
        return {model.forward(inputs.at(0).toTensor())};
      },
      [](const at::Tensor&) { return std::string(); }, /*strict=*/true, /*force_outplace=*/false,
      &module, {"images"});
  const c10::QualifiedName name(*module.type()->name(), "forward");
  module.type()->addMethod(unit->create_function(name, state->graph));
  std::ostringstream out;
  module.save(out, {{"packhorse.json", text}});
  return out.str();
}

}  // namespace packhorse::trainer
