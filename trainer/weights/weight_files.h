#pragma once

#include <ATen/core/ivalue.h>

#include <filesystem>

#include "packhorse/bytes.h"
#include "packhorse/trainer/named_tensors.h"

/// The kinds of files that read_weights() takes. All throw Error with the path in it.
namespace packhorse::trainer {

/// Throws Error(kCorrupt) for a file that is damaged.
[[noreturn]] void throw_bad_weights(const std::filesystem::path& path, const std::string& why);

/// A safetensors file: 8 bytes with the header's length, the header in JSON, then the tensors'
/// bytes. Source: https://github.com/huggingface/safetensors, "Format".
NamedTensors read_safetensors(const std::filesystem::path& path);

/// What torch.save() wrote (a zip file, as of PyTorch 1.6): the pickled value. Its members' CRCs
/// are checked.
c10::IValue read_torch_zip(const std::filesystem::path& path);

}  // namespace packhorse::trainer
