#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "device/named_tensors.h"
#include "optim/optimizer.h"

namespace packhorse::trainer {

/// The content of a checkpoint file. `meta` is plain data (numbers, texts, lists, maps); the
/// tensors are on the CPU.
struct Checkpoint {
  nlohmann::json meta = nlohmann::json::object();
  NamedTensors model;        ///< parameters and buffers
  OptimizerState optimizer;  ///< e.g. "momentum", by parameter name
  NamedTensors ema = {};     ///< the averaged model; empty: there is none
  at::Tensor scaler = {};    ///< GradScaler's state; undefined: there is none
};

/// Writes a file that Python's torch.load(path, weights_only=True) opens as one dictionary: the
/// entries of `meta`, "model" (a dictionary of tensors), "optimizer" (one for each kind of state),
/// "ema" and "scaler" where they exist, "format", "format_version" and "checksum" (XXH3 of
/// everything else, since LibTorch's zip reader does not check its CRCs). Written to a temporary
/// name, synced, renamed: an older file at `path` stays whole until then. Throws Error(kIo |
/// kNoSpace).
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Throws Error(kNotFound); Error(kCorrupt) naming the file when it is damaged or not a checkpoint
/// of packhorse-train; or Error(kUnsupported) for another version.
Checkpoint read_checkpoint(const std::filesystem::path& path);

}  // namespace packhorse::trainer
