#pragma once

#include <string>

namespace packhorse::trainer {

/// Whether what LibTorch threw says that another process is gone or stuck.
bool tells_of_lost_process(const std::string& message);
/// Error(kIo) with what LibTorch said, and advice.
[[noreturn]] void throw_lost_process(const std::string& message);

}  // namespace packhorse::trainer
