#pragma once

#include <string>

namespace packhorse::trainer {

/// Whether this message of LibTorch's says that another process is gone or stuck.
bool tells_of_lost_process(const std::string& message);
/// Throws Error(kIo) with LibTorch's message, and advice.
[[noreturn]] void throw_lost_process(const std::string& message);

}  // namespace packhorse::trainer
