#pragma once

#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "device/named_tensors.h"
#include "input/normalize.h"
#include "packhorse/trainer/models/models.h"

/// Copies tensors out of a model and into it.
namespace packhorse::trainer {

NamedTensors named_parameters(const Model& model);
NamedTensors named_buffers(const Model& model);
/// The parameters, then the buffers.
NamedTensors named_state(const Model& model);

/// Copies that own their memory, whatever becomes of the originals.
NamedTensors copied_to_cpu(const NamedTensors& tensors);

/// Whether all floating-point numbers are finite. Waits for the device, once.
bool all_finite(const NamedTensors& tensors);

/// Throws Error(kCorrupt) naming the first tensor that does not fit. `path` is the file `from`
/// comes from.
void copy_into(const NamedTensors& to, const NamedTensors& from, const std::filesystem::path& path);

/// Throws Error(kCorrupt) when the checkpoint has no normalization.
void load_normalization(const Checkpoint& checkpoint, const std::filesystem::path& path,
                        Normalization& normalization);

}  // namespace packhorse::trainer
