#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "packhorse/trainer/device/named_tensors.h"
#include "packhorse/trainer/optim/optimizer.h"

namespace packhorse::trainer {

/// What a checkpoint file holds. `meta` is plain data (numbers, texts, lists, maps); the tensors
/// are on the CPU.
struct Checkpoint {
  nlohmann::json meta = nlohmann::json::object();
  NamedTensors model;        ///< parameters and buffers
  OptimizerState optimizer;  ///< e.g. "momentum", by parameter name
  NamedTensors ema = {};     ///< the averaged model; empty: there is none
  at::Tensor scaler = {};    ///< GradScaler's state; undefined: there is none
};

/// Writes a file that Python's torch.load(path, weights_only=True) opens as one dictionary: the
/// entries of `meta`, and "model" (a dictionary of tensors), "optimizer" (one for each thing kept),
/// where there are any "ema" and "scaler", "format", "format_version" and "checksum" (XXH3 of
/// everything else, since the zip reader of LibTorch does not check its CRCs). Written aside,
/// synced, renamed: an older file at `path` stays whole until then. Throws Error(kIo | kNoSpace).
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Throws Error(kNotFound), or Error(kCorrupt) naming the file for one that is damaged or none of
/// ours, or Error(kUnsupported) for one of another version.
Checkpoint read_checkpoint(const std::filesystem::path& path);

}  // namespace packhorse::trainer
