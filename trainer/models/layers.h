#pragma once

#include <torch/nn/modules/conv.h>

#include <cstdint>

/// What the convolutional networks are built of.
namespace packhorse::trainer {

/// Without bias, padded so that stride 1 keeps the picture's sides; one norm follows each.
/// `groups` = `in` convolves each channel by itself.
torch::nn::Conv2d conv(std::int64_t in, std::int64_t out, int kernel, int stride,
                       std::int64_t groups = 1);

/// He's initialisation by fan-out of all convolutions below `module`, as torchvision has it.
/// LibTorch's own defaults do for norms (1, 0) and linear layers.
void init_convolutions(torch::nn::Module& module);

}  // namespace packhorse::trainer
