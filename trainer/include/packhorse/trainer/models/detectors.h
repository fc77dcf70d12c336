#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "packhorse/trainer/models/models.h"

namespace packhorse::trainer {

/// A network that finds objects: "yolox-nano", "yolox-tiny" or "yolox-s" (Ge et al. 2021,
/// arXiv:2107.08430), on the CPU, initialised from LibTorch's default generator. Parameters and
/// buffers carry the names of its authors' implementation in Python.
///
///     float [B, 3, H, W], sides multiples of 32 -> float [B, A, 5 + classes]
///
/// For each of the A = H W (1/8^2 + 1/16^2 + 1/32^2) places, finest level first and row after row:
/// a box's centre x, y, width and height in pixels, then as logits whether there is an object, and
/// its classes. Throws Error(kUsage) for an unknown name and fewer than one class.
std::shared_ptr<Model> make_detector(std::string_view name, std::int64_t classes);

}  // namespace packhorse::trainer
