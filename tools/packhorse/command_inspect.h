#pragma once

#include "common/program.h"

namespace packhorse {

std::unique_ptr<program::Command> make_inspect_command();

inline constexpr program::CommandKind kInspectCommand = {
    "inspect", "Describe, list and verify a packed dataset", make_inspect_command};

}  // namespace packhorse
