#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "packhorse/trainer/sgd.h"

namespace packhorse::trainer {

/// What a checkpoint file holds. `meta` is plain data (numbers, texts, lists, maps); the tensors
/// are on the CPU.
struct Checkpoint {
  nlohmann::json meta = nlohmann::json::object();
  NamedTensors model;     ///< parameters and buffers
  NamedTensors momentum;  ///< by parameter name
  at::Tensor rng;         ///< state of LibTorch's CPU generator
};

/// Writes a file that Python's torch.load(path, weights_only=True) opens as one dictionary: the
/// entries of `meta`, and "model", "momentum" (dictionaries of tensors), "rng", "format",
/// "format_version" and "checksum" (XXH3 of everything else, since the zip reader of LibTorch does
/// not check its CRCs). Written aside, synced, renamed: an older file at `path` stays whole until
/// then. Throws Error(kIo | kNoSpace).
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Throws Error(kNotFound), or Error(kCorrupt) naming the file for one that is damaged or none of
/// ours, or Error(kUnsupported) for one of a later version.
Checkpoint read_checkpoint(const std::filesystem::path& path);

}  // namespace packhorse::trainer
