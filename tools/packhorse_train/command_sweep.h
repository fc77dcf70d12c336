#pragma once

#include "common/program.h"

namespace packhorse::trainer {

std::unique_ptr<program::Command> make_sweep_command();

inline constexpr program::CommandKind kSweepCommand = {
    "sweep", "Find how many reader threads and batches ahead a training wants", make_sweep_command};

}  // namespace packhorse::trainer
