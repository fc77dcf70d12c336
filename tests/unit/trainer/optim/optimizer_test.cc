#include "optim/optimizer.h"

#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/randn.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <cmath>

#include "optim/ema.h"
#include "optim/grad_scaler.h"
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

/// Runs ten steps of `ours` beside LibTorch's: weights decay by `weight_decay`, biases do not.
template <class Theirs, class TheirOptions>
void check_against(const OptimizerOptions& options, const TheirOptions& their_options) {
  const auto ours = parameters(), theirs = parameters();
  const auto optimizer = make_optimizer(ours, options);
  Theirs decayed({theirs[0].second, theirs[1].second},
                 TheirOptions(their_options).weight_decay(options.weight_decay));
  Theirs bare({theirs[2].second}, TheirOptions(their_options).weight_decay(0));
  for (int step = 0; step < 10; ++step) {
    set_gradients(ours, step);
    set_gradients(theirs, step);
    const double lr = 0.1 / (1 + step);
    optimizer->set_lr(lr);
    optimizer->step();
    for (Theirs* one : {&decayed, &bare}) {
      for (auto& group : one->param_groups()) group.options().set_lr(lr);
      one->step();
    }
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(ours[i].first);
    CHECK(ours[i].second.allclose(theirs[i].second, 1e-5, 1e-6));
  }
}

}  // namespace

TEST_CASE("optimizer: ten steps of SGD agree with torch::optim::SGD") {
  for (const bool nesterov : {false, true}) {
    check_against<torch::optim::SGD>(
        {.kind = OptimizerKind::kSgd, .momentum = 0.9, .nesterov = nesterov, .weight_decay = 0.05},
        torch::optim::SGDOptions(0.1).momentum(0.9).nesterov(nesterov));
  }
}

TEST_CASE("optimizer: ten steps of AdamW agree with torch::optim::AdamW") {
  check_against<torch::optim::AdamW>(
      {.kind = OptimizerKind::kAdamW, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.05},
      torch::optim::AdamWOptions(0.1).betas({0.8, 0.95}));
}

TEST_CASE("optimizer: a vision transformer's class token and positions do not decay") {
  for (const auto kind : {OptimizerKind::kSgd, OptimizerKind::kAdamW, OptimizerKind::kLars}) {
    const NamedTensors tensors = {{"class_token", at::full({1, 1, 4}, 2.0)},
                                  {"encoder.pos_embedding", at::full({1, 5, 4}, 2.0)},
                                  {"encoder.bias", at::full({4}, 2.0)},
                                  {"encoder.weight", at::full({4, 4}, 2.0)}};
    for (const auto& [name, tensor] : tensors) tensor.mutable_grad() = at::full_like(tensor, 1e-8);
    const auto optimizer = make_optimizer(tensors, {.kind = kind, .weight_decay = 0.5});
    optimizer->set_lr(kind == OptimizerKind::kAdamW ? 1e-3 : 1);
    optimizer->step();
    const auto length = [&](int i) { return tensors[std::size_t(i)].second.norm().item<double>(); };
    const double token = length(0) / std::sqrt(4 * 4.0), bias = length(2) / std::sqrt(4 * 4.0);
    CHECK(token == doctest::Approx(bias).epsilon(1e-6));
    CHECK(length(1) / std::sqrt(20 * 4.0) == doctest::Approx(bias).epsilon(1e-6));
    CHECK(length(3) / std::sqrt(16 * 4.0) < bias - 1e-4);
  }
}

TEST_CASE("optimizer: LARS gives each weight a step of a share of its length") {
  const auto tensors = parameters();
  const auto before = tensors[0].second.detach().clone();
  const auto bias = tensors[2].second.detach().clone();
  set_gradients(tensors, 1);
  const auto gradient = tensors[0].second.grad().clone();
  const auto optimizer = make_optimizer(tensors, {.kind = OptimizerKind::kLars,
                                                  .momentum = 0,
                                                  .nesterov = false,
                                                  .trust = 0.01,
                                                  .weight_decay = 0.1});
  optimizer->set_lr(2);
  const auto bias_gradient = tensors[2].second.grad().clone();
  optimizer->step();
  const double weight = before.norm().item<double>(), slope = gradient.norm().item<double>();
  const double rate = 2 * 0.01 * weight / (slope + 0.1 * weight);
  CHECK(tensors[0].second.allclose(before - rate * (gradient + 0.1 * before), 1e-5, 1e-6));
  CHECK(tensors[2].second.allclose(bias - 2 * bias_gradient, 1e-5, 1e-6));
}

TEST_CASE("optimizer: what is kept carries the parameters' names and memory order") {
  const auto tensors = parameters();
  const auto optimizer = make_optimizer(tensors, {.kind = OptimizerKind::kSgd});
  set_gradients(tensors, 0);
  optimizer->set_lr(0.1);
  optimizer->step();
  const auto momentum = optimizer->state().at("momentum");
  REQUIRE(momentum.size() == 3);
  CHECK(momentum[1].first == "kernel");
  CHECK(momentum[1].second.is_contiguous(at::MemoryFormat::ChannelsLast));
  optimizer->zero_grad();
  CHECK_FALSE(tensors[0].second.grad().defined());
}

TEST_CASE("optimizer: where found_inf is set, nothing changes, in any of them") {
  for (const auto kind : {OptimizerKind::kSgd, OptimizerKind::kAdamW, OptimizerKind::kLars}) {
    const auto tensors = parameters();
    const auto optimizer = make_optimizer(tensors, {.kind = kind});
    optimizer->set_lr(0.1);
    set_gradients(tensors, 0);
    optimizer->step(at::full({1}, 0.0f));
    const auto before = tensors[0].second.detach().clone();
    const auto state = optimizer->state();
    OptimizerState copy;
    for (const auto& [slot, kept] : state) {
      for (const auto& [name, tensor] : kept) copy[slot].emplace_back(name, tensor.clone());
    }
    set_gradients(tensors, 1);
    tensors[1].second.mutable_grad().fill_(INFINITY);
    optimizer->step(at::full({1}, 1.0f));
    CHECK(tensors[0].second.equal(before));
    for (const auto& [slot, kept] : state) {
      for (std::size_t i = 0; i < kept.size(); ++i)
        CHECK(kept[i].second.equal(copy[slot][i].second));
    }
  }
}

TEST_CASE("optimizer: clipping agrees with torch::nn::utils::clip_grad_norm_") {
  for (const double longest : {0.5, 1e6}) {
    const auto ours = parameters(), theirs = parameters();
    set_gradients(ours, 2);
    set_gradients(theirs, 2);
    std::vector<at::Tensor> gradients, all;
    for (const auto& [name, tensor] : ours) gradients.push_back(tensor.grad());
    for (const auto& [name, tensor] : theirs) all.push_back(tensor);
    const auto norm = clip_grad_norm(gradients, longest);
    CHECK(norm.item<double>() ==
          doctest::Approx(torch::nn::utils::clip_grad_norm_(all, longest)).epsilon(1e-6));
    for (std::size_t i = 0; i < ours.size(); ++i)
      CHECK(ours[i].second.grad().allclose(theirs[i].second.grad()));
  }
}

TEST_CASE("grad scaler: grows after good steps, backs off and counts at an overflow") {
  GradScaler scaler(at::kCPU, {.init_scale = 8, .growth_interval = 2});
  const auto step = [&](float gradient) {
    std::vector<at::Tensor> gradients = {at::full({3}, gradient * scaler.current_scale()),
                                         at::full({2}, 1.0f)};
    scaler.unscale(gradients);
    const bool skip = scaler.found_inf().item<float>() != 0;
    if (!skip) CHECK(gradients[0][0].item<float>() == doctest::Approx(gradient));
    scaler.update();
    return skip;
  };
  // torch.amp.GradScaler's sequence for these settings
  CHECK_FALSE(step(1));
  CHECK(scaler.current_scale() == 8);
  CHECK_FALSE(step(1));
  CHECK(scaler.current_scale() == 16);
  CHECK(step(INFINITY));
  CHECK(scaler.current_scale() == 8);
  CHECK(step(NAN));
  CHECK(scaler.current_scale() == 4);
  CHECK_FALSE(step(1));
  CHECK(scaler.skipped() == 2);
  CHECK(scaler.scale(at::full({}, 3.0f)).item<float>() == 12);

  GradScaler other(at::kCPU, {.growth_interval = 2});
  other.load(scaler.state());
  CHECK(other.current_scale() == 4);
  CHECK(other.skipped() == 2);
  std::vector<at::Tensor> good = {at::full({1}, 1.0f)};
  other.unscale(good);
  other.update();
  CHECK(other.current_scale() == 8);  // the good step before the copy counts
}

TEST_CASE("grad scaler: without growth and back-off it only notices") {
  GradScaler scaler(at::kCPU, {.init_scale = 1, .growth = 1, .backoff = 1});
  std::vector<at::Tensor> bad = {at::full({1}, NAN)};
  scaler.unscale(bad);
  scaler.update();
  CHECK(scaler.current_scale() == 1);
  CHECK(scaler.skipped() == 1);
}

TEST_CASE("ema: follows parameters, copies counters, and swaps by value") {
  const auto weight = at::full({2}, 1.0f);
  const auto count = at::full({}, 5, at::kLong);
  Ema ema({{"weight", weight}, {"count", count}}, 0.9);
  weight.fill_(2);
  count.fill_(6);
  ema.update(0);  // decay 1/10
  CHECK(ema.average()[0].second[0].item<float>() == doctest::Approx(1.9));
  CHECK(ema.average()[1].second.item<std::int64_t>() == 6);
  ema.update(1000);  // decay 0.9
  CHECK(ema.average()[0].second[0].item<float>() == doctest::Approx(1.91));
  {
    const Ema::Applied applied(ema);
    CHECK(weight[0].item<float>() == doctest::Approx(1.91));
  }
  CHECK(weight[0].item<float>() == 2);
  CHECK(ema.average()[0].second[0].item<float>() == doctest::Approx(1.91));
}
