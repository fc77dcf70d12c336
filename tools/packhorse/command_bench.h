#pragma once

#include "common/program.h"

namespace packhorse {

std::unique_ptr<program::Command> make_bench_command();

inline constexpr program::CommandKind kBenchCommand = {
    "bench", "Measure how fast datasets and folders are read", make_bench_command};

}  // namespace packhorse
