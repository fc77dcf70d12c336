#pragma once

#include "common/program.h"

namespace packhorse {

std::unique_ptr<program::Command> make_unpack_command();

inline constexpr program::CommandKind kUnpackCommand = {
    "unpack", "Write a packed dataset back as a folder of images", make_unpack_command};

}  // namespace packhorse
