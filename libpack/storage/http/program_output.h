#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace packhorse {

/// What a program printed, and how it ended.
struct ProgramOutput {
  std::string text;           ///< up to a little more than was wanted
  std::optional<int> status;  ///< as waitpid(2) gives it; nothing when it printed too much
};

/// Runs a program without a shell, and without a standard input, for as long as `most_time`, and
/// keeps what it prints, of which `most_bytes` are wanted. When that is over it is ended, with
/// everything that it started. `quiet`: its stderr goes nowhere. Nothing when the time was over.
/// Throws Error(kIo) when it cannot be started.
std::optional<ProgramOutput> output_of(const std::vector<std::string>& command,
                                       std::size_t most_bytes, std::chrono::milliseconds most_time,
                                       bool quiet);

}  // namespace packhorse
