#pragma once

#include <torch/nn/modules/conv.h>

#include <cstdint>

/// The building blocks of the convolutional networks.
namespace packhorse::trainer {

/// A convolution without bias, padded so that stride 1 keeps the picture's sides; a norm follows
/// each one. `groups` = `in` convolves each channel by itself.
torch::nn::Conv2d conv(std::int64_t in, std::int64_t out, int kernel, int stride,
                       std::int64_t groups = 1);

/// Applies He's initialisation by fan-out to all convolutions below `module`, as torchvision does.
/// LibTorch's defaults are right for norms (1, 0) and linear layers.
void init_convolutions(torch::nn::Module& module);

}  // namespace packhorse::trainer
