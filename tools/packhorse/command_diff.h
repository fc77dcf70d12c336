#pragma once

#include "common/program.h"

namespace packhorse {

std::unique_ptr<program::Command> make_diff_command();

inline constexpr program::CommandKind kDiffCommand = {
    "diff", "Say what differs between two packed datasets", make_diff_command};

}  // namespace packhorse
