#pragma once

#include <filesystem>

#include "packhorse/trainer/checkpoint/checkpoint.h"
#include "packhorse/trainer/device/named_tensors.h"
#include "packhorse/trainer/input/normalize.h"
#include "packhorse/trainer/models/models.h"

/// Tensors out of a model and into it.
namespace packhorse::trainer {

NamedTensors named_parameters(const Model& model);
NamedTensors named_buffers(const Model& model);
/// Parameters, then buffers.
NamedTensors named_state(const Model& model);

/// Of their own memory, whatever becomes of the originals.
NamedTensors copied_to_cpu(const NamedTensors& tensors);

/// Whether all numbers of floating point are finite. Waits for the device, once.
bool all_finite(const NamedTensors& tensors);

/// Throws Error(kCorrupt) naming the first tensor that does not fit. `path` is what `from` is of.
void copy_into(const NamedTensors& to, const NamedTensors& from, const std::filesystem::path& path);

/// Throws Error(kCorrupt) when the checkpoint has none.
void load_normalization(const Checkpoint& checkpoint, const std::filesystem::path& path,
                        Normalization& normalization);

}  // namespace packhorse::trainer
