#pragma once

#include <ATen/core/ivalue.h>

#include <filesystem>

#include "packhorse/base/bytes.h"
#include "packhorse/trainer/device/named_tensors.h"

/// The kinds of files that read_weights() takes.
namespace packhorse::trainer {

/// Throws Error(kCorrupt) for a file that is damaged.
[[noreturn]] void throw_bad_weights(const std::filesystem::path& path, const std::string& why);

/// A safetensors file: 8 bytes with the header's length, the header in JSON, then the tensors'
/// bytes. Source: https://github.com/huggingface/safetensors, "Format". Throws Error with the path.
NamedTensors read_safetensors(const std::filesystem::path& path);

/// What torch.save() wrote (a zip file, as of PyTorch 1.6): the pickled value. Its members' CRCs
/// are checked. Throws Error where it cannot be read, and another std::exception that says what is
/// damaged, for the caller to say what the file should have been.
c10::IValue read_torch_zip(const std::filesystem::path& path);

}  // namespace packhorse::trainer
