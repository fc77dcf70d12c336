#pragma once

#include "common/program.h"

namespace packhorse::trainer {

std::unique_ptr<program::Command> make_fit_command();

inline constexpr program::CommandKind kFitCommand = {
    "fit", "Train a network on a dataset, with checkpoints to resume from", make_fit_command};

}  // namespace packhorse::trainer
