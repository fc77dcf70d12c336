#pragma once

#include "common/program.h"

namespace packhorse::trainer {

std::unique_ptr<program::Command> make_eval_command();

inline constexpr program::CommandKind kEvalCommand = {"eval", "Score a checkpoint on a dataset",
                                                      make_eval_command};

}  // namespace packhorse::trainer
