#pragma once

#include <ATen/core/ivalue.h>

#include <filesystem>

#include "device/named_tensors.h"
#include "packhorse/base/bytes.h"

/// Readers for the kinds of files that weights come in.
namespace packhorse::trainer {

/// The parameters and buffers in a file, on the CPU, as they were saved; load_weights() says which
/// files. Throws Error(kNotFound), or Error(kCorrupt | kUnsupported) naming the file.
NamedTensors read_weights(const std::filesystem::path& path);

/// Reports a damaged file: throws Error(kCorrupt).
[[noreturn]] void throw_bad_weights(const std::filesystem::path& path, const std::string& why);

/// Reads a safetensors file: 8 bytes with the header's length, the header in JSON, then the
/// tensors' bytes. Source: https://github.com/huggingface/safetensors, "Format". Throws Error with
/// the path.
NamedTensors read_safetensors(const std::filesystem::path& path);

/// Reads the value pickled in a file that torch.save() wrote (a zip file, since PyTorch 1.6), and
/// checks the CRCs of its members. Throws Error when the file cannot be read, and another
/// std::exception that says what is damaged; the caller then says what the file should have been.
c10::IValue read_torch_zip(const std::filesystem::path& path);

}  // namespace packhorse::trainer
