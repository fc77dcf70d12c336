#pragma once

#include "common/program.h"

namespace packhorse {

std::unique_ptr<program::Command> make_index_command();

inline constexpr program::CommandKind kIndexCommand = {
    "index", "Adopt shards made by others, without rewriting them", make_index_command};

}  // namespace packhorse
