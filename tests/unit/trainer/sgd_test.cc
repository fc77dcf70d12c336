#include "packhorse/trainer/sgd.h"

#include <ATen/ops/randn.h>
#include <torch/optim/sgd.h>

#include "support/support.h"

using namespace packhorse::trainer;

namespace {

NamedTensors parameters() {
  at::manual_seed(7);
  NamedTensors all;
  all.emplace_back("weight", at::randn({8, 5}));
  all.emplace_back("kernel", at::randn({4, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast));
  all.emplace_back("bias", at::randn({8}));
  for (auto& [name, tensor] : all) tensor.set_requires_grad(true);
  return all;
}

void set_gradients(const NamedTensors& tensors, int step) {
  for (const auto& [name, tensor] : tensors)
    tensor.mutable_grad() = (tensor.detach() * 3 + step).sin();
}

}  // namespace

TEST_CASE("sgd: ten steps agree with torch::optim::SGD") {
  bool nesterov = false;
  SUBCASE("momentum") {}
  SUBCASE("nesterov") { nesterov = true; }
  auto ours = parameters(), theirs = parameters();
  FusedSgd fused(ours, {.momentum = 0.9, .nesterov = nesterov, .weight_decay = 0.05});
  const auto options = torch::optim::SGDOptions(0.1).momentum(0.9).nesterov(nesterov);
  torch::optim::SGD decayed({theirs[0].second, theirs[1].second},
                            torch::optim::SGDOptions(options).weight_decay(0.05));
  torch::optim::SGD bare({theirs[2].second}, options);
  for (int step = 0; step < 10; ++step) {
    set_gradients(ours, step);
    set_gradients(theirs, step);
    const double lr = 0.1 / (1 + step);
    fused.step(lr);
    for (auto* optimiser : {&decayed, &bare}) {
      for (auto& group : optimiser->param_groups()) group.options().set_lr(lr);
      optimiser->step();
    }
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(ours[i].first);
    CHECK(ours[i].second.allclose(theirs[i].second, 1e-5, 1e-6));
  }
}

TEST_CASE("sgd: momentum buffers carry the parameters' names and memory order") {
  const auto tensors = parameters();
  FusedSgd sgd(tensors, {});
  set_gradients(tensors, 0);
  sgd.step(0.1);
  const auto momentum = sgd.momentum();
  REQUIRE(momentum.size() == 3);
  CHECK(momentum[1].first == "kernel");
  CHECK(momentum[1].second.is_contiguous(at::MemoryFormat::ChannelsLast));
  sgd.zero_grad();
  CHECK_FALSE(tensors[0].second.grad().defined());
}
