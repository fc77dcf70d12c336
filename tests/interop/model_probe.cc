// Networks with weights from files, for tests in Python that hold them against torchvision.
//   model_probe logits ARCH CLASSES SIZE WEIGHTS INPUT: scores of INPUT's tensor "images", in
//                                                       evaluation mode, as raw float32 on stdout
//   model_probe save ARCH CLASSES SIZE OUT: a checkpoint of a new network, its norms' buffers
//   shaken
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand_like.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/weight_files.h"
#include "packhorse/trainer/checkpoint/weights.h"

namespace {

using namespace packhorse::trainer;  // NOLINT(google-build-using-namespace): a program about it

void print_logits(Model& model, const std::string& weights, const std::string& input) {
  load_weights(model, weights);
  model.eval();
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : read_weights(input)) {
    const auto logits =
        model.forward(tensor.contiguous(at::MemoryFormat::ChannelsLast)).contiguous();
    std::fwrite(logits.const_data_ptr(), 1, logits.nbytes(), stdout);
  }
}

void save(const Model& model, const std::string& path) {
  Checkpoint checkpoint;
  for (const auto& item : model.named_parameters()) {
    checkpoint.model.emplace_back(item.key(), item.value());
  }
  for (const auto& item : model.named_buffers()) {
    auto buffer = item.value();
    if (buffer.is_floating_point()) buffer.copy_(at::rand_like(buffer) + 0.5);
    checkpoint.model.emplace_back(item.key(), buffer);
  }
  write_checkpoint(path, checkpoint);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> args(argv, static_cast<std::size_t>(argc));
  try {
    if (argc < 6) throw std::runtime_error("see the source for the arguments");
    at::manual_seed(1);
    const auto model = make_model(args[2], std::stoll(args[3]), std::stoi(args[4]));
    make_channels_last(*model);
    if (std::string(args[1]) == "save") {
      save(*model, args[5]);
    } else {
      print_logits(*model, args[5], argc > 6 ? args[6] : "");
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
